// The data of writes that are not in the file yet: in memory up to a limit, beyond it in a
// temporary file without a name. Positions count from 0, in the order of adding.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_file.h"
#include "base/large_block.h"
#include "base/types.h"

namespace forebay {

class PendingData {
 public:
  using MakeFile = std::function<std::unique_ptr<ByteFile>()>;

  /// `make_file`: an empty file to write and read, made when the limit is reached for the first
  /// time.
  PendingData(Count limit, MakeFile make_file) : limit_(limit), make_file_(std::move(make_file)) {}

  /// Copies the bytes, and returns their position.
  Offset add(std::span<const std::byte> bytes);
  /// Keeps only a pointer: the bytes stay as they are until clear().
  Offset lend(std::span<const std::byte> bytes);
  /// Room for `bytes` to be filled by the caller before anything else is called; `position` gets
  /// where they are.
  std::span<std::byte> reserve(Count bytes, Offset& position);

  Count bytes() const { return spilled_ + held_; }
  Count held() const { return held_; }  ///< in memory
  /// Whether that and `more` bytes are more than the limit.
  bool is_full(Count more = 0) const { return held_ > 0 && held_ + more > limit_; }
  /// Local. All that was added is in the temporary file, from its beginning on; what is in memory
  /// stays there.
  void save();
  Count saved() const { return saved_; }
  /// Moves what is in memory to the temporary file if it is full with `more` bytes. Local. When
  /// that fails it stays in memory.
  void make_room(Count more = 0);
  /// The same, full or not.
  void move_to_file();
  /// Copies what was lent. Local.
  void keep_lent();
  /// What was lent is no more: from now on what asks for pending data throws Errc::enomem.
  void lose() { lost_ = true; }
  /// Where the bytes at a position are in memory, as they were added; null if they are no more.
  const std::byte* address_of(Offset position) const;

  /// Writes all to `file` from `begin` on.
  void write_to(ByteFile& file, Offset begin);
  /// Copies the bytes at a position.
  void read(Offset position, std::span<std::byte> into) const;
  void clear();

 private:
  static constexpr Count block_bytes = 1 << 20, copy_bytes = 8 << 20;

  void check_whole() const;
  void drop_parts();

  Count limit_;
  MakeFile make_file_;
  std::unique_ptr<ByteFile> file_;
  // In the file; of these, in the file only; in memory.
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
