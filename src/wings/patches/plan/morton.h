// Morton order (van Oosterom and Vijlbrief, SDH 1996; Fan et al. 2021, §IV-C) of the cells of a
// grid. Consecutive cells are near each other in space, so data that is read together is stored
// together.
//
// The order interleaves the bits of a cell's coordinates, with the fastest dimension's bit lowest
// in each group. If a grid's lengths are not powers of two, some of these numbers have no cell. So
// cells are counted instead: the number of a cell is how many cells come before it. Numbers are
// then 0 to cells − 1, in the same order, and equal parts of them have equally many cells.
//
// To count, each bit of each coordinate, the highest first, halves the box that contains the cell.
// The lower half is complete if the upper half has any cell. If the bit is 1, the cells of the
// lower half come before. A grid of n cells has little more than log2 n such bits.
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

  /// `shape` has the cells along each dimension, slowest first; without dimensions there is one
  /// cell. Errc::einval for a negative length, more than most_dims lengths, or 2^63 cells.
  explicit MortonOrder(std::span<const Count> shape);

  Count cells() const { return cells_; }
  /// How many cells come before the one at `at`, which lies in the grid. O(log cells).
  Count number_of(std::span<const Count> at) const;
  /// Sets `at` to the coordinates of the cell with this number, 0 <= number < cells(). O(log
  /// cells).
  void position_of(Count number, std::span<Count> at) const;

 private:
  struct Halving {
    std::uint8_t dim, bit;
  };
  using Lengths = std::array<Count, most_dims>;

  std::vector<Halving> halvings_;  // of the grid down to a cell, the largest half first
  Lengths shape_{};
  std::size_t dims_;
  Count cells_ = 1;
};

}  // namespace forebay
