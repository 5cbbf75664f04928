// Keeps the values of blocks behind operators that were used last, since a program often reads an
// array slice by slice, and each slice meets the same blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/raw_bytes.h"
#include "base/types.h"
#include "groups/format/bp.h"

namespace forebay::process_group {

class DecodedBlocks {
 public:
  /// All that decoding depends on. The index of a hostile file may give one payload to blocks of
  /// different sizes, types and operators.
  using Key = std::tuple<std::uint32_t, Offset, Count, Count, bp::Type, std::string>;
  static Key key_of(bp::Type type, const bp::Block& block) {
    return {block.file, block.payload, block.stored, block.bytes, type, block.operation};
  }

  /// `most` bytes of values are kept, or one block that has more.
  explicit DecodedBlocks(Count most) : most_(most) {}

  /// Returns the values of a block, valid until the next call. If they are not kept, decode() makes
  /// them, as RawBytes, after the blocks that were used longest ago have made room. Throws what
  /// decode() throws.
  template <typename Decode>
  std::span<const std::byte> get(const Key& key, Count bytes, Decode&& decode) {
    if (const auto found = places_.find(key); found != places_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return kept_.front().values;
    }
    while (!kept_.empty() && (bytes > most_ || taken_ > most_ - bytes)) {
      taken_ -= memory_of(std::ssize(kept_.back().values));
      places_.erase(kept_.back().key);
      kept_.pop_back();
    }
    kept_.push_front({key, decode()});
    try {
      places_.emplace(key, kept_.begin());
    } catch (...) {
      kept_.pop_front();
      throw;
    }
    taken_ += memory_of(std::ssize(kept_.front().values));
    return kept_.front().values;
  }

 private:
  struct Kept {
    Key key;
    RawBytes values;
  };
  static Count memory_of(Count bytes) {
    constexpr Count of_lists = 256;
    return bytes + of_lists;
  }

  Count most_, taken_ = 0;
  std::list<Kept> kept_;  // the one that was used last comes first
  std::map<Key, std::list<Kept>::iterator> places_;
};

}  // namespace forebay::process_group
