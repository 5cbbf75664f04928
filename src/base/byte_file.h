// A file as the rooms above transport see one: whole-or-error reads and writes at byte positions.
// storage/file.h implements it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "base/types.h"

namespace forebay {

/// Whether a store answers so slowly that operations are carried out in bulk: `latency` nanoseconds
/// a call, ByteFile::least_latency(). Between one that answers from memory or a cache of its own
/// (5 µs and less) and one where each call goes to a server.
constexpr bool is_slow(std::int64_t latency) {
  return latency != std::numeric_limits<std::int64_t>::max() && latency >= 100'000;
}

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual const std::string& path() const = 0;
  /// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
  virtual std::size_t read_at(Offset offset, std::span<std::byte> into) = 0;
  /// Writes pieces of memory that follow each other in the file, all or throws (Errc::eno_space,
  /// equota, ewrite); `pieces` is used up.
  virtual void write_at(Offset offset, std::span<iovec> pieces) = 0;
  virtual Offset size() = 0;
  virtual void truncate(Offset size) = 0;
  virtual void sync() = 0;
  /// Gives the space of a range back to the file system; its bytes read as zero. Returns false
  /// where the file system cannot.
  virtual bool release(Offset offset, Count bytes) = 0;
  /// False once the file has no name any more: somebody removed it.
  virtual bool is_linked() = 0;

  // What a transport asks of a file; the answers here are those of one without a descriptor.

  /// Local. Opens now, to find errors early.
  virtual void ensure_open() {}
  /// Local. write_at() for values, which nothing in the file refers to yet: they may be written
  /// later, while writes_later().
  virtual void write_data_at(Offset offset, std::span<const std::byte> from) {
    write_at(offset, from);
  }
  virtual bool writes_later() const { return false; }
  /// Local. Nanoseconds that a write, or a read, takes at least, whatever its size; the largest
  /// number until that is known.
  virtual std::int64_t least_latency([[maybe_unused]] bool writing) const {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// Local. What another rank has found out of it.
  virtual void learn_latency([[maybe_unused]] bool writing, [[maybe_unused]] std::int64_t ns) {}
  static constexpr std::int64_t few_timed = 4;
  static constexpr std::int64_t largest_timed = 1 << 20;  ///< bytes; larger ones tell of bandwidth
  /// Whether the bytes between those that are written must be left alone: what this node knows of
  /// them may be old.
  virtual bool has_weak_caches() const { return false; }

  /// Local. Grows with each write of this process to the file, by whatever object, and where others
  /// may have written. Negative: that is not known.
  virtual std::int64_t changes() const { return -1; }
  /// Whether it was opened to read only.
  virtual bool only_reads() const { return false; }

  void write_at(Offset offset, std::span<const std::byte> from) {
    iovec piece{const_cast<std::byte*>(from.data()), from.size()};
    write_at(offset, std::span<iovec>(&piece, 1));
  }
};

}  // namespace forebay
