#include "groups/process_group/step_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"

namespace forebay::process_group {
namespace step_index_test {

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

// Ranks 0 and 1 have a group each, "v" on both, rank 0 has "w", and rank 1 an attribute.
TEST(StepIndex, pieces_of_all_ranks_fill_it) {
  Catalogue known;
  known.learn(Comm(), std::vector<Name>{{{"v", bp::Type::int8}, Kind::local, 1},
                                        {{"w", bp::Type::int8}, Kind::local, 1},
                                        {{"a", bp::Type::int8}, Kind::attribute}});
  StepIndex step;
  step.take_names(known, [](std::size_t) { return false; });
  EXPECT_EQ(step.first_attribute, 2U);
  step.group_bytes = 30;
  step.groups = {0, 60, 2};
  step.of_names = {{24, 70, 3}, {24, 10, 1}, {0, 9, 1}};
  step.plan = plan_index(4096, 60, step.of_names, step.first_attribute);
  const bp::Bytes groups(30), blocks(40), attributes(9);
  using Sums = std::vector<std::int64_t>;
  const Sums none(8), of_0{0, 1, 30, 1, 10, 1, 0, 0}, of_1{0, 1, 40, 2, 0, 0, 9, 1};
  std::vector<FilePiece> all;
  std::vector<IndexPieces> kept;
  for (const int rank : {0, 1}) {
    step.sums.mine = rank == 0 ? of_0 : of_1;
    step.sums.before = rank == 0 ? none : of_0;
    kept.push_back(pieces_of(step, known, bp::Form::bp4, rank == 0, groups, blocks, attributes));
    all.insert(all.end(), kept.back().pieces.begin(), kept.back().pieces.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  Offset at = step.plan.record.groups;
  for (const FilePiece& piece : all) {
    EXPECT_EQ(piece.at, at);
    if (at == step.plan.entries[1]) EXPECT_EQ(piece.bytes.data(), blocks.data() + 30);
    at += std::ssize(piece.bytes);
  }
  EXPECT_EQ(at, step.plan.record.end);
}

}  // namespace step_index_test
}  // namespace forebay::process_group
