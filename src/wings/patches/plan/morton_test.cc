#include "patches/plan/morton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/error.h"

namespace forebay {
namespace morton_test {

using Cell = std::vector<Count>;

// All cells in row-major order.
std::vector<Cell> cells_of(const std::vector<Count>& shape) {
  std::vector<Cell> cells{{}};
  for (const Count length : shape) {
    std::vector<Cell> longer;
    for (const Cell& cell : cells) {
      for (Count i = 0; i < length; ++i) {
        longer.push_back(cell);
        longer.back().push_back(i);
      }
    }
    cells = longer;
  }
  return cells;
}

// Interleaves the bits of all coordinates, the fastest dimension's bit lowest.
Count interleaved(const Cell& cell) {
  Count code = 0;
  int to = 0;
  for (int bit = 0; to < 60; ++bit) {
    for (std::size_t d = cell.size(); d-- > 0 && to < 60; ++to) code |= (cell[d] >> bit & 1) << to;
  }
  return code;
}

const std::vector<std::vector<Count>> shapes{{},        {1},        {7},          {64},
                                             {5, 3},    {1, 9},     {8, 8},       {33, 2},
                                             {4, 4, 4}, {5, 6, 7},  {1, 1, 1},    {13, 2, 9},
                                             {3, 1, 5}, {17, 3, 2}, {3, 4, 2, 5}, {2, 3, 2, 3, 3}};

TEST(Morton, numbers_are_those_of_the_interleaved_bits_in_order) {
  for (const auto& shape : shapes) {
    auto cells = cells_of(shape);
    std::sort(cells.begin(), cells.end(),
              [](const Cell& a, const Cell& b) { return interleaved(a) < interleaved(b); });
    const MortonOrder order(shape);
    ASSERT_EQ(order.cells(), std::ssize(cells));
    for (Count n = 0; n < order.cells(); ++n) {
      const Cell& cell = cells[static_cast<std::size_t>(n)];
      EXPECT_EQ(order.number_of(cell), n);
      Cell back(shape.size(), -1);
      order.position_of(n, back);
      EXPECT_EQ(back, cell);
    }
  }
}

TEST(Morton, in_grids_of_powers_of_two_the_number_is_the_interleaved_one) {
  const MortonOrder order(std::vector<Count>{16, 16, 16});
  for (const Cell& cell : cells_of({16, 16, 16}))
    ASSERT_EQ(order.number_of(cell), interleaved(cell));
}

// The dimension whose coordinates differ in the highest bit decides; if several do, the slowest one
// (Chan, Closest-point problems simplified on the RAM, SODA 2002).
bool morton_before(const Cell& a, const Cell& b) {
  std::uint64_t highest = 0;
  bool before = false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const std::uint64_t differ =
        static_cast<std::uint64_t>(a[d]) ^ static_cast<std::uint64_t>(b[d]);
    // Tests whether the highest bit of `differ` is above that of `highest`.
    if (highest >= differ || highest >= (highest ^ differ)) continue;
    highest = differ;
    before = a[d] < b[d];
  }
  return before;
}

TEST(Morton, the_largest_grids_have_64_bit_numbers) {
  const Count most = std::numeric_limits<Count>::max();
  for (const auto& shape : std::vector<std::vector<Count>>{
           {most}, {3, most / 3}, {2097151, 2097151, 2097151}, {55108, 55108, 55108, 55108}}) {
    const MortonOrder order(shape);
    Cell last, back(shape.size());
    for (const Count length : shape) last.push_back(length - 1);
    EXPECT_EQ(order.number_of(last), order.cells() - 1);
    std::mt19937_64 random(1);
    Count before = -1;
    Cell previous;
    std::vector<Count> numbers(200);
    for (Count& n : numbers)
      n = static_cast<Count>(random() % static_cast<std::uint64_t>(order.cells()));
    std::sort(numbers.begin(), numbers.end());
    for (const Count n : numbers) {
      order.position_of(n, back);
      EXPECT_EQ(order.number_of(back), n);
      if (!previous.empty()) {
        EXPECT_EQ(morton_before(previous, back), before < n);
      }
      previous = back;
      before = n;
    }
  }
}

TEST(Morton, impossible_grids_are_refused) {
  EXPECT_THROW(MortonOrder(std::vector<Count>{-1}), Error);
  EXPECT_THROW(MortonOrder(std::vector<Count>(9, 1)), Error);
  EXPECT_THROW(MortonOrder(std::vector<Count>(3, Count{1} << 21)), Error);
  EXPECT_EQ(MortonOrder(std::vector<Count>{4, 0}).cells(), 0);
}

}  // namespace morton_test
}  // namespace forebay
