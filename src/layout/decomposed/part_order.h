// The order in which a codec sees the elements of a part. Ranks hold scattered columns, so that in
// the order of ranks neighbours in a part are not neighbours in the field, and a codec finds less:
// where a part has the whole blobs of several ranks it is put into the order of the array before it
// is encoded, and back when it was decoded.
//
// How follows from the patterns alone, and serves all variables and records by a map. Where they
// have the same leading steps, as a rule, one index of these tells of all: a move for each run of
// columns, not one for each element.
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
#include "format/decomposed.h"

namespace forebay::decomposed {

class PartOrder {
 public:
  /// No part whose patterns have more runs is put into another order (docs/formats.md).
  static constexpr std::size_t most_runs = 1 << 18;

  /// Null: they lie in the order of the array already, or a part of them has to stay as it is.
  /// `patterns` are those of its blobs, in their order.
  static std::shared_ptr<const PartOrder> of(std::span<const Pattern> patterns,
                                             std::size_t most = most_runs);

  /// Elements of `width` bytes, from the order of ranks to that of the array, and back. `from` and
  /// `to` have as many as the patterns, and no byte in common.
  void sort(std::span<const std::byte> from, std::span<std::byte> to, int width) const;
  void unsort(std::span<const std::byte> from, std::span<std::byte> to, int width) const;

  Count elements() const { return elements_; }
  Count memory() const { return static_cast<Count>(moves_.size() * sizeof(Move)); }

 private:
  struct Move {  // of the first level, in the order of the array
    std::uint32_t from, count;
    std::uint32_t step;  // to the same elements of the next level
  };
  template <typename F>
  void each(F&& f) const;

  std::vector<Move> moves_;
  Count levels_ = 1, elements_ = 0;
};

/// Those that were found, by a name; forgets all rather than hold more.
class PartOrders {
 public:
  /// `most_runs`: a part of more stays as it is. While an order is made that takes about 64 bytes
  /// a run.
  explicit PartOrders(Count most_bytes, std::size_t most_runs = PartOrder::most_runs)
      : most_bytes_(most_bytes), most_runs_(most_runs) {}

  /// `name` says which patterns those are. `next()`, asked where that order is not known, is one of
  /// them after another, then nothing.
  using NextPattern = std::function<std::optional<Pattern>()>;
  std::shared_ptr<const PartOrder> of(std::span<const std::byte> name, const NextPattern& next);

 private:
  Count most_bytes_, bytes_ = 0;
  std::size_t most_runs_;
  std::vector<std::pair<Key, std::shared_ptr<const PartOrder>>> known_;
};

}  // namespace forebay::decomposed
