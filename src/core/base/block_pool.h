// BlockPool keeps memory for block sizes that are needed again. Memory that went back to the
// system comes as new pages, and a new page costs as much as copying into it.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "base/attempt.h"
#include "base/types.h"

namespace forebay {

class BlockPool {
 public:
  using Block = std::unique_ptr<std::byte[]>;
  static constexpr Count least = 16 << 10;  ///< bytes of the smallest block that is kept

  /// Returns a block of `bytes` bytes. Making a new one frees the kept blocks if they have more
  /// than limit() bytes. Of small blocks, which may be many, each `least` bytes count as one.
  template <typename Limit>
  Block take(Count bytes, const Limit& limit) {
    const auto made = [&] {
      return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    };
    if (bytes < least && (small_ += bytes) < least) return made();
    if (bytes < least) small_ = 0;
    const auto found = blocks_.find(bytes);
    if (found != blocks_.end()) {
      Block block = std::move(found->second);
      blocks_.erase(found);
      bytes_ -= bytes;
      return block;
    }
    if (bytes_ > 0 && bytes_ > limit()) clear();
    return made();
  }

  /// Takes back a block. Small blocks are freed, and so are blocks beyond limit() bytes.
  template <typename Limit>
  void give(Block block, Count bytes, const Limit& limit) noexcept {
    if (!block || bytes < least) return;
    const Count most = limit();
    if (bytes_ + bytes > most) clear();  // sizes that are not used again must not stay
    if (bytes > most) return;
    attempt_to([&] {
      blocks_.emplace(bytes, std::move(block));
      bytes_ += bytes;
    });
  }

  Count bytes() const { return bytes_; }

 private:
  void clear() {
    blocks_.clear();
    bytes_ = 0;
  }

  std::unordered_multimap<Count, Block> blocks_;
  Count bytes_ = 0, small_ = 0;
};

}  // namespace forebay
