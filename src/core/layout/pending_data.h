// The data of writes that are not in the file yet. It is in memory up to a limit, beyond it in a
// temporary file without a name. Positions count from 0, in the order of adding.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_file.h"
#include "base/large_block.h"
#include "base/types.h"
#include "storage/write_queue.h"

namespace forebay {

class PendingData {
 public:
  using MakeFile = std::function<std::unique_ptr<ByteFile>()>;

  /// `make_file` makes an empty file for writing and reading, when the limit is first reached.
  PendingData(Count limit, MakeFile make_file) : limit_(limit), make_file_(std::move(make_file)) {}

  /// Copies the bytes, and returns their position.
  Offset add(std::span<const std::byte> bytes);
  /// Keeps only a pointer: the caller must not change the bytes until clear().
  Offset lend(std::span<const std::byte> bytes);
  /// Returns memory for `bytes` bytes at `position`. The caller fills it before any other call.
  std::span<std::byte> reserve(Count bytes, Offset& position);

  Count bytes() const { return spilled_ + held_; }
  Count held() const { return held_; }  ///< in memory
  /// Returns whether the bytes in memory and `more` bytes exceed the limit.
  bool is_full(Count more = 0) const { return held_ > 0 && held_ + more > limit_; }
  /// Local. Copies everything to the temporary file, from its beginning on; the bytes in memory
  /// stay there.
  void save();
  Count saved() const { return saved_; }
  /// Local. Moves the bytes in memory to the temporary file if it is full with `more` bytes. On
  /// failure they stay in memory.
  void make_room(Count more = 0);
  /// The same in any case.
  void move_to_file();
  /// Local. Copies the lent bytes.
  void keep_lent();
  /// The lent bytes are lost: from now on any access to pending data throws Errc::enomem.
  void lose() { lost_ = true; }
  /// The address in memory of the bytes at a position, as they were added; null if they have left
  /// memory.
  const std::byte* address_of(Offset position) const;

  /// Writes all to `file` from `begin` on.
  void write_to(ByteFile& file, Offset begin);
  /// Copies the bytes at a position.
  void read(Offset position, std::span<std::byte> into) const;
  void clear();

  /// Moves all data to the result, which has no temporary file. Nothing may be saved. Addresses and
  /// positions stay.
  PendingData give();
  /// Keeps the memory of data that give() returned, which is no longer needed, for later data.
  void reuse(PendingData&& done);
  /// Hands all data to the queue, to be written to `file` from `begin` on. Nothing may be saved.
  /// The data must stay until it is written. Returns the number of its last write.
  std::uint64_t lend_to(WriteQueue& queue, ByteFile& file, Offset begin) const;

 private:
  static constexpr Count block_bytes = 1 << 20, copy_bytes = 8 << 20;

  void check_whole() const;
  void drop_parts();

  Count limit_;
  MakeFile make_file_;
  std::unique_ptr<ByteFile> file_;
  // In the file; of these, only in the file; in memory.
  Count saved_ = 0, spilled_ = 0, held_ = 0;
  bool lost_ = false;
  /// In order; `begin` is the position of the first byte.
  struct Part {
    Offset begin;
    std::span<const std::byte> bytes;
    bool lent = false;
  };
  std::vector<Part> parts_;
  const Part& part_at(Offset position) const;
  std::vector<LargeBlock> blocks_, spare_;  // of block_bytes each
  std::vector<LargeBlock> large_;
  std::byte* free_ = nullptr;
  Count left_ = 0;
};

}  // namespace forebay
