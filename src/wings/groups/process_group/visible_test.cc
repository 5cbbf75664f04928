#include "groups/process_group/visible.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace forebay::process_group {
namespace visible_test {

// For each element of the box: which overlap it comes from, and its place in the block; -1: none.
using Owners = std::vector<std::pair<std::ptrdiff_t, std::vector<Count>>>;

template <typename F>
void each_element(const Overlap& one, const std::vector<Count>& box, F&& f) {
  const std::vector<Count> steps = Rows::steps_of(box);
  std::vector<Count> at(one.count.size(), 0);
  for (Count n = product(one.count); n-- > 0;) {
    std::vector<Count> in_block = one.in_block, in_box = one.in_box;
    for (std::size_t d = 0; d < at.size(); ++d) in_block[d] += at[d], in_box[d] += at[d];
    f(static_cast<std::size_t>(linear(in_box, steps)), in_block);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == one.count[d];) at[d] = 0;
  }
}

class VisibleTest : public testing::Test {
 protected:
  Overlap some(const std::vector<Count>& box, Count most) {
    Overlap one;
    for (const Count extent : box) {
      const Count count = 1 + number(std::min(most, extent));
      one.count.push_back(count);
      one.in_box.push_back(number(extent - count + 1));
      one.in_block.push_back(number(5));
    }
    return one;
  }
  Count number(Count below) { return static_cast<Count>(random_() % static_cast<unsigned>(below)); }
  static Visible visible(const std::vector<Overlap>& overlaps, const std::vector<Count>& box) {
    Count sum = 0;
    for (const Overlap& one : overlaps) sum += product(one.count);
    return visible_parts(overlaps, box, sum);
  }
  static void expect_the_later_ones(const std::vector<Overlap>& overlaps,
                                    const std::vector<Count>& box) {
    const Visible seen = visible(overlaps, box);
    ASSERT_FALSE(seen.too_many);
    const Owners nobody(static_cast<std::size_t>(product(box)), {-1, {}});
    Owners expected = nobody, got = nobody;
    for (std::size_t n = 0; n < overlaps.size(); ++n)
      each_element(overlaps[n], box, [&](std::size_t at, const std::vector<Count>& in_block) {
        expected[at] = {static_cast<std::ptrdiff_t>(n), in_block};
      });
    for (const VisiblePart& one : seen.parts)
      each_element(one.part, box, [&](std::size_t at, const std::vector<Count>& in_block) {
        ASSERT_EQ(got[at].first, -1) << "twice";
        got[at] = {static_cast<std::ptrdiff_t>(one.of), in_block};
      });
    EXPECT_EQ(got, expected);
    EXPECT_EQ(seen.elements, std::count_if(expected.begin(), expected.end(),
                                           [](const auto& one) { return one.first >= 0; }));
  }

  std::mt19937 random_{7};
};

TEST_F(VisibleTest, each_element_is_in_the_part_of_the_last_block_that_has_it) {
  const std::vector<std::vector<Count>> boxes{{50}, {9, 11}, {4, 5, 6}, {3, 2, 3, 4}};
  for (const auto& box : boxes)
    for (int round = 0; round < 60; ++round) {
      std::vector<Overlap> overlaps;
      for (Count n = 1 + number(7); n > 0; --n) overlaps.push_back(some(box, 6));
      expect_the_later_ones(overlaps, box);
    }
}

TEST_F(VisibleTest, many_blocks) {
  const std::vector<Count> box{30, 40};
  std::vector<Overlap> overlaps;
  for (Count r = 0; r < 15; ++r)
    for (Count c = 0; c < 10; ++c) overlaps.push_back({{0, 0}, {2 * r, 4 * c}, {2, 4}});
  expect_the_later_ones(overlaps, box);
  EXPECT_EQ(visible(overlaps, box).parts.size(), overlaps.size());
  for (Overlap& one : overlaps) {  // each includes an element of its neighbours
    one.in_box[0] = std::max<Count>(one.in_box[0] - 1, 0);
    ++one.count[0];
  }
  expect_the_later_ones(overlaps, box);
}

TEST_F(VisibleTest, it_does_not_take_for_ever) {
  const std::vector<Count> box{100, 100};
  std::vector<Overlap> overlaps{{{0, 0}, {0, 0}, {100, 100}}};
  for (Count r = 0; r < 100; r += 2)
    for (Count c = 0; c < 100; c += 20) overlaps.push_back({{0, 0}, {r, c}, {1, 1}});
  const Visible holes = visible(overlaps, box);  // hundreds of pieces of the first one
  EXPECT_TRUE(holes.too_many);
  EXPECT_EQ(holes.elements, 10000);
  const std::vector<Overlap> same(3000, overlaps[0]);
  EXPECT_TRUE(visible(same, box).too_many);
  EXPECT_EQ(visible(same, box).elements, 10000);
}

}  // namespace visible_test
}  // namespace forebay::process_group
