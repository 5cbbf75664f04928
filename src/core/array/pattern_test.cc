#include "array/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace forebay {
namespace pattern_test {

using Coordinates = std::vector<Count>;

/// Returns the elements of a pattern in their order, one by one.
std::vector<Coordinates> elements_of(const Placed& placed) {
  const Pattern& pattern = placed.pattern;
  const std::size_t outer = pattern.outer.size(), n = pattern.ndims();
  std::vector<Coordinates> out;
  std::vector<Count> index(outer, 0);
  while (true) {
    for (const PatternRun& run : pattern.runs)
      for (Count i = 0; i < run.length; ++i) {
        Coordinates at(n);
        Count rest = run.offset + i;
        for (std::size_t d = n; d-- > outer;) {
          const Count extent = d == 0 ? INT64_MAX : pattern.inner[d - 1];
          at[d] = rest % extent;
          rest /= extent;
        }
        for (std::size_t d = 0; d < outer; ++d)
          at[d] = pattern.outer[d].start + index[d] * pattern.outer[d].stride;
        at[0] += placed.base;
        out.push_back(at);
      }
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == pattern.outer[d - 1].count) index[--d] = 0;
    if (d == 0) return out;
  }
}

struct Draw {
  std::mt19937_64 rng;
  Count below(Count n) { return static_cast<Count>(rng() % static_cast<std::uint64_t>(n)); }

  std::vector<Count> extents(std::size_t n) {
    std::vector<Count> out(n);
    for (Count& e : out) e = 1 + below(5);
    return out;
  }
  Placed box(const std::vector<Count>& extents) {
    std::vector<Steps> steps;
    for (const Count extent : extents) {
      Steps s{below(extent), 1, 1 + below(3)};
      s.count = 1 + below((extent - 1 - s.start) / s.stride + 1);
      steps.push_back(s);
    }
    return box_pattern(extents, steps);
  }
  Placed runs(const std::vector<Count>& extents) {
    Count total = 1;
    for (const Count e : extents) total *= e;
    std::vector<Run> list;
    for (Offset at = below(total); at < total;) {
      const Count length = 1 + below(std::min<Count>(total - at, 4));
      list.push_back({at, length});
      at += length + below(4);
    }
    return runs_pattern(extents, list);
  }
  /// Returns columns of the last dimension under the same box of the others.
  Placed columns(const std::vector<Count>& extents) {
    const std::size_t n = extents.size();
    std::vector<std::uint64_t> low(n), high(n), blocks;
    for (std::size_t d = 0; d + 1 < n; ++d) {
      low[d] = static_cast<std::uint64_t>(below(extents[d]));
      high[d] = low[d] + static_cast<std::uint64_t>(below(extents[d] - static_cast<Count>(low[d])));
    }
    for (Count at = below(extents[n - 1]); at < extents[n - 1]; at += 1 + below(3)) {
      low[n - 1] = high[n - 1] = static_cast<std::uint64_t>(at);
      blocks.insert(blocks.end(), low.begin(), low.end());
      blocks.insert(blocks.end(), high.begin(), high.end());
    }
    auto placed = blocks_pattern(extents, blocks);
    EXPECT_TRUE(placed);
    return *placed;
  }
  Placed any(const std::vector<Count>& extents) {
    const auto kind = below(3);
    return kind == 0 ? box(extents) : kind == 1 ? runs(extents) : columns(extents);
  }
};

void expect_right_intersection(const Placed& a, const Placed& b) {
  std::map<Coordinates, Count> in_b;
  const auto of_a = elements_of(a), of_b = elements_of(b);
  for (std::size_t i = 0; i < of_b.size(); ++i) in_b[of_b[i]] = static_cast<Count>(i);
  std::vector<std::pair<Count, Count>> expected, got;
  for (std::size_t i = 0; i < of_a.size(); ++i)
    if (const auto at = in_b.find(of_a[i]); at != in_b.end())
      expected.push_back({static_cast<Count>(i), at->second});
  intersect(a.pattern, a.base, b.pattern, b.base, [&](const SharedList& list) {
    for (const Shared& s : list.pieces)
      for (Count i = 0; i < s.count; ++i) got.push_back({s.a + list.a + i, s.b + list.b + i});
  });
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got, expected);
}

TEST(Pattern, elements_are_in_row_major_order_and_within_bounds) {
  Draw draw{std::mt19937_64(1)};
  for (int round = 0; round < 2000; ++round) {
    const auto placed = draw.any(draw.extents(static_cast<std::size_t>(1 + draw.below(4))));
    ASSERT_EQ(fault_of(placed.pattern), std::nullopt);
    const auto elements = elements_of(placed);
    ASSERT_EQ(static_cast<Count>(elements.size()), placed.pattern.elements());
    ASSERT_TRUE(std::is_sorted(elements.begin(), elements.end()));
    const Bounds bounds = bounds_of(placed.pattern, placed.base);
    for (const auto& at : elements) {
      Count flat = at[0];
      for (std::size_t d = 0; d < at.size(); ++d) {
        ASSERT_GE(at[d], bounds.low[d]);
        ASSERT_LT(at[d], bounds.high[d]);
        if (d > 0) flat = flat * placed.pattern.inner[d - 1] + at[d];
      }
      ASSERT_GE(flat, bounds.first);
      ASSERT_LT(flat, bounds.last);
    }
  }
}

TEST(Pattern, intersection_finds_each_shared_element_once) {
  Draw draw{std::mt19937_64(2)};
  for (int round = 0; round < 20000; ++round) {
    const auto extents = draw.extents(static_cast<std::size_t>(1 + draw.below(4)));
    expect_right_intersection(draw.any(extents), draw.any(extents));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Pattern, intersection_goes_by_coordinates_where_extents_changed) {
  Draw draw{std::mt19937_64(3)};
  for (int round = 0; round < 5000; ++round) {
    const auto n = static_cast<std::size_t>(1 + draw.below(4));
    expect_right_intersection(draw.any(draw.extents(n)), draw.any(draw.extents(n)));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(Pattern, the_same_selection_of_another_record_is_the_same_pattern) {
  const std::vector<Count> extents = {100, 7, 30};
  const std::vector<Steps> here = {{3, 1, 1}, {0, 7, 1}, {4, 5, 1}};
  const std::vector<Steps> there = {{60, 1, 1}, {0, 7, 1}, {4, 5, 1}};
  EXPECT_EQ(box_pattern(extents, here).pattern, box_pattern(extents, there).pattern);
  EXPECT_EQ(box_pattern(extents, there).base, 60);
}

TEST(Pattern, whole_inner_dimensions_become_one_run) {
  const std::vector<Count> extents = {100, 7, 30};
  const std::vector<Steps> steps = {{3, 20, 1}, {0, 7, 1}, {0, 30, 1}};
  const Placed placed = box_pattern(extents, steps);
  EXPECT_TRUE(placed.pattern.outer.empty());
  EXPECT_EQ(placed.pattern.runs, (std::vector<PatternRun>{{0, 20 * 210, 0}}));
}

TEST(Pattern, blocks_over_levels_are_one_list_of_columns) {
  const std::vector<Count> extents = {72, 866};
  const std::vector<std::uint64_t> blocks = {0, 3, 71, 4, 0, 9, 71, 9};
  const auto placed = blocks_pattern(extents, blocks);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->pattern.outer, (std::vector<Steps>{{0, 72, 1}}));
  EXPECT_EQ(placed->pattern.runs, (std::vector<PatternRun>{{3, 2, 0}, {9, 1, 2}}));
}

TEST(Pattern, blocks_that_interleave_are_refused) {
  const std::vector<Count> extents = {10, 10};
  const std::vector<std::uint64_t> blocks = {0, 0, 3, 3, 2, 5, 6, 7};
  EXPECT_FALSE(blocks_pattern(extents, blocks));
}

TEST(Pattern, impossible_patterns_are_found) {
  const Placed good =
      box_pattern(std::vector<Count>{9, 9}, std::vector<Steps>{{1, 3, 1}, {2, 3, 1}});
  EXPECT_FALSE(fault_of(good.pattern));
  Pattern bad = good.pattern;
  bad.runs[0].length = 8;
  EXPECT_TRUE(fault_of(bad));
  bad = good.pattern, bad.inner[0] = INT64_MAX / 2, bad.outer[0].count = 3;
  EXPECT_TRUE(fault_of(bad));
  bad = good.pattern, bad.outer[0].stride = 0;
  EXPECT_TRUE(fault_of(bad));
  bad = good.pattern, bad.runs.push_back({3, 1, 3});
  EXPECT_TRUE(fault_of(bad));
  EXPECT_FALSE(base_fits(good.pattern, INT64_MAX - 1));
}

}  // namespace pattern_test
}  // namespace forebay
