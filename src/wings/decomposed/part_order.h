// The order in which a codec sees the elements of a part. Ranks hold scattered columns, so
// neighbours in the order of ranks are not neighbours in the field, and compress less. So a part of
// several ranks' whole blobs is sorted into the order of the array before encoding, and back after
// decoding.
//
// The order follows from the patterns alone, and serves all variables and records of a map. As a
// rule the patterns have the same leading steps. Then one index of these stands for all, and a move
// is stored for each run of columns, not for each element.
//
//     ranks 0 and 1, 2 levels, columns 0 2 and 1 3:
//     as the ranks hold them   a0 a2 b0 b2 | a1 a3 b1 b3     a, b: levels
//     in the array's order     a0 a1 a2 a3 b0 b1 b2 b3
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

class PartOrder {
 public:
  /// Parts whose patterns have more runs are not sorted (docs/formats.md).
  static constexpr std::size_t most_runs = 1 << 18;

  /// Returns null if the elements are in the order of the array already, or must stay as they are.
  /// `patterns` are those of the part's blobs, in their order.
  static std::shared_ptr<const PartOrder> of(std::span<const Pattern> patterns,
                                             std::size_t most = most_runs);

  /// Sorts elements of `width` bytes from the order of ranks to that of the array, and back. `from`
  /// and `to` have as many elements as the patterns, and do not overlap.
  void sort(std::span<const std::byte> from, std::span<std::byte> to, int width) const;
  void unsort(std::span<const std::byte> from, std::span<std::byte> to, int width) const;

  Count elements() const { return elements_; }
  Count memory() const { return static_cast<Count>(moves_.size() * sizeof(Move)); }

 private:
  struct Move {  // within the first level, in the order of the array
    std::uint32_t from, count;
    std::uint32_t step;  // to the same elements of the next level
  };
  template <typename F>
  void each(F&& f) const;

  std::vector<Move> moves_;
  Count levels_ = 1, elements_ = 0;
};

/// A cache of orders, by name. It drops all rather than exceed its memory.
class PartOrders {
 public:
  /// A part with more than `most_runs` runs is not sorted. Making an order takes about 64 bytes a
  /// run.
  explicit PartOrders(Count most_bytes, std::size_t most_runs = PartOrder::most_runs)
      : most_bytes_(most_bytes), most_runs_(most_runs) {}

  /// `name` identifies the patterns. If their order is not known, `next()` returns one pattern
  /// after another, then nothing.
  using NextPattern = std::function<std::optional<Pattern>()>;
  std::shared_ptr<const PartOrder> of(std::span<const std::byte> name, const NextPattern& next);

 private:
  Count most_bytes_, bytes_ = 0;
  std::size_t most_runs_;
  std::vector<std::pair<Key, std::shared_ptr<const PartOrder>>> known_;
};

}  // namespace forebay::decomposed
