// Memory for what comes again in the same sizes. A large block that is given back to the system is
// new pages the next time, and to get one of those costs as much as to copy into it.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "base/attempt.h"
#include "base/types.h"

namespace forebay {

class KeptBlocks {
 public:
  using Block = std::unique_ptr<std::byte[]>;
  static constexpr Count least = 16 << 10;  ///< bytes of what is kept

  /// One of `bytes` bytes. Where it is a new one, what is kept besides is limit() bytes at most
  /// from here on; of small ones, which may be many, each `least` bytes together count as one.
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

  /// Small ones, and where more than limit() bytes would be kept others, are not kept.
  template <typename Limit>
  void give(Block block, Count bytes, const Limit& limit) noexcept {
    if (!block || bytes < least) return;
    const Count most = limit();
    if (bytes_ + bytes > most) clear();  // sizes that do not come again do not stay
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
