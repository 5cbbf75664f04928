// Morton order (van Oosterom and Vijlbrief, SDH 1996; H §IV-C) of the cells of a grid: cells that
// follow each other are near each other in space, so that what is read together lies together.
//
// The order is that of the numbers that come of interleaving the bits of a cell's coordinates, with
// the fastest dimension's bit lowest in each group. Where a grid's lengths are no powers of two
// there are such numbers without a cell. So cells are counted instead: the number of a cell is how
// many cells of the grid come before it. Numbers are then 0 to cells − 1, in the same order, and
// equal parts of them are equally many cells.
//
// Counting: one bit of one coordinate after another, the highest first, halves the box that the
// cell lies in, its lower half being whole wherever the upper one has any cell; where the bit is 1,
// the cells of the lower half come before. A grid of n cells has hardly more than log2 n such bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay {

/// The cells of one grid in Morton order.
class MortonOrder {
 public:
  static constexpr std::size_t most_dims = 8;

  /// Cells along each dimension, slowest first; without dimensions there is one cell.
  /// Errc::einval for a length below 0, more than most_dims of them, or 2^63 cells.
  explicit MortonOrder(std::span<const Count> shape);

  Count cells() const { return cells_; }
  /// How many cells come before the one at `at`, which lies in the grid. O(log cells).
  Count number_of(std::span<const Count> at) const;
  /// The coordinates of the cell before which `number` others come, 0 <= number < cells().
  /// O(log cells).
  void position_of(Count number, std::span<Count> at) const;

 private:
  struct Halving {
    std::uint8_t dim, bit;
  };
  using Lengths = std::array<Count, most_dims>;

  std::vector<Halving> halvings_;  // of the grid down to a cell, the largest first
  Lengths shape_{};
  std::size_t dims_;
  Count cells_ = 1;
};

}  // namespace forebay
