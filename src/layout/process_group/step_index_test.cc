#include "layout/process_group/step_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"

namespace forebay::process_group {
namespace {

TEST(StepIndex, parts_follow_each_other_and_absent_names_take_no_room) {
  const std::vector<NameSums> names{{30, 100, 2}, {40, 0, 0}, {50, 300, 1}, {0, 70, 1}, {0, 0, 0}};
  const auto plan = plan_index(1000, 60, names, 3);
  EXPECT_EQ(plan.record.groups, 1000);
  EXPECT_EQ(plan.record.variables, 1076);
  EXPECT_EQ(plan.heads, (std::vector<Offset>{1088, -1, 1218, 1580, -1}));
  EXPECT_EQ(plan.entries, (std::vector<Offset>{1118, -1, 1268, 1580, -1}));
  EXPECT_EQ(plan.record.attributes, 1568);
  EXPECT_EQ(plan.record.end, 1650);
  EXPECT_EQ(plan.variables, 2U);
  EXPECT_EQ(plan.attributes, 1U);
}

// 10^6 ranks, each with one block of 3 dimensions of 1,000 variables: 107 GB an index.
TEST(StepIndex, places_of_a_million_ranks_with_a_thousand_variables_do_not_overflow) {
  constexpr std::int64_t ranks = 1'000'000, entry = 5 + 10 + 4 + 72 + 19 + 18;
  const std::vector<NameSums> names(1000, {33, ranks * entry, ranks});
  constexpr Offset begin = Offset{1} << 40;
  const auto plan = plan_index(begin, ranks * 30, names, names.size());
  EXPECT_EQ(plan.record.variables, begin + 16 + ranks * 30);
  EXPECT_EQ(plan.heads[999], plan.record.variables + 12 + 999 * (33 + ranks * entry));
  EXPECT_EQ(plan.record.end, plan.record.variables + 12 + 1000 * (33 + ranks * entry) + 12);
}

TEST(StepIndex, what_leaves_63_bits_is_refused) {
  const std::vector<NameSums> names{{33, std::numeric_limits<std::int64_t>::max() - 100, 1}};
  EXPECT_THROW(plan_index(64, 0, names, 1), Error);
}

}  // namespace
}  // namespace forebay::process_group
