// ByteFile is a file as the code above storage sees it. A read or write at a byte position moves
// all bytes or throws. storage/file.h implements it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "base/types.h"

namespace forebay {

/// Returns whether a store answers so slowly that operations should be done in bulk. `latency` is
/// ByteFile::least_latency(), in nanoseconds. The limit lies between a store that answers from
/// memory or a cache (5 µs or less) and one where each call goes to a server.
constexpr bool is_slow(std::int64_t latency) {
  return latency != std::numeric_limits<std::int64_t>::max() && latency >= 100'000;
}

class ByteFile {
 public:
  virtual ~ByteFile() = default;
  virtual const std::string& path() const = 0;
  /// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
  virtual std::size_t read_at(Offset offset, std::span<std::byte> into) = 0;
  /// Writes pieces of memory one after another to the file. Writes all or throws (Errc::eno_space,
  /// equota, ewrite). `pieces` is used up.
  virtual void write_at(Offset offset, std::span<iovec> pieces) = 0;
  virtual Offset size() = 0;
  virtual void truncate(Offset size) = 0;
  virtual void sync() = 0;
  /// Gives the space of a range back to the file system. Its bytes read as zero then. Returns false
  /// if the file system cannot do that.
  virtual bool release(Offset offset, Count bytes) = 0;
  /// Returns false once somebody has removed the file, so that it has no name any more.
  virtual bool is_linked() = 0;

  // Transports call the functions below. The defaults are those of a file without a descriptor.

  /// Local. Opens the file now, to find errors early.
  virtual void ensure_open() {}
  /// Local. Writes values that nothing in the file refers to yet. They may be written later, as
  /// long as writes_later() is true.
  virtual void write_data_at(Offset offset, std::span<const std::byte> from) {
    write_at(offset, from);
  }
  virtual bool writes_later() const { return false; }
  /// Local. Returns the least time of a write or read, in nanoseconds, whatever its size. It is the
  /// largest number until that is known.
  virtual std::int64_t least_latency([[maybe_unused]] bool writing) const {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// Local. Takes over a latency that another rank has measured.
  virtual void learn_latency([[maybe_unused]] bool writing, [[maybe_unused]] std::int64_t ns) {}
  static constexpr std::int64_t few_timed = 4;
  static constexpr std::int64_t largest_timed = 1 << 20;  ///< bytes; larger calls measure bandwidth
  /// Returns whether bytes between the written ones must not be rewritten, because this node may
  /// have old ones in its cache.
  virtual bool has_weak_caches() const { return false; }

  /// Local. Returns a number that grows with each write of this process to the file, by whatever
  /// object, and whenever others may have written. It is negative where that is not known.
  virtual std::int64_t changes() const { return -1; }
  /// Returns whether the file was opened for reading only.
  virtual bool only_reads() const { return false; }

  void write_at(Offset offset, std::span<const std::byte> from) {
    iovec piece{const_cast<std::byte*>(from.data()), from.size()};
    write_at(offset, std::span<iovec>(&piece, 1));
  }
};

}  // namespace forebay
