#include "plan/compaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace forebay {
namespace compaction_test {

constexpr Count kib = 1 << 10;

FileSpace space_around(const std::vector<BytesInUse>& in_use) {
  std::vector<FileSpace::Range> used;
  for (const BytesInUse& each : in_use) used.push_back({each.offset, each.offset + each.bytes});
  return {0, used};
}

TEST(Compaction, what_lies_last_fills_what_is_free_before_it) {
  const std::vector<BytesInUse> in_use = {
      {300 * kib, 40 * kib}, {0, 10 * kib}, {400 * kib, 30 * kib}, {200 * kib, 20 * kib}};
  FileSpace space = space_around(in_use);
  const auto moves = plan_compaction(in_use, 1 << 20, space);
  ASSERT_EQ(moves.size(), 3U);
  EXPECT_EQ(moves[0].which, 2U);  // the last first
  EXPECT_EQ(moves[0].to, 10 * kib) << "not behind where the file could end";
  EXPECT_EQ(moves[1].which, 0U);
  EXPECT_EQ(moves[2].which, 3U);
  for (const SpaceMove& move : moves) EXPECT_LT(move.to, in_use[move.which].offset);
}

TEST(Compaction, what_is_small_does_not_stay_in_small_ranges_far_behind) {
  std::vector<BytesInUse> in_use = {{0, 10 * kib}};
  for (Offset at = 700 * kib; at < 701 * kib; at += 128) in_use.push_back({at, 64});
  FileSpace space = space_around(in_use);
  const auto moves = plan_compaction(in_use, 1 << 20, space);
  ASSERT_EQ(moves.size(), 8U);
  for (const SpaceMove& move : moves) EXPECT_LT(move.to, 11 * kib);
}

TEST(Compaction, nothing_is_moved_where_little_is_free) {
  // Less than half of the bytes in use, and less than the minimum for a move.
  for (const std::vector<BytesInUse>& in_use :
       {std::vector<BytesInUse>{{0, 800 * kib}, {1100 * kib, 8}},
        std::vector<BytesInUse>{{60 * kib, 8}}}) {
    FileSpace space = space_around(in_use);
    const Offset end = space.end();
    EXPECT_TRUE(plan_compaction(in_use, 1 << 20, space).empty());
    EXPECT_EQ(space.end(), end);
  }
}

TEST(Compaction, it_ends_at_what_an_older_state_needs_and_at_what_a_rank_may_hold) {
  const auto count = [](bool stays, Count most) {
    const std::vector<BytesInUse> in_use = {
        {300 * kib, kib}, {400 * kib, kib, stays}, {500 * kib, kib}};
    FileSpace space = space_around(in_use);
    return plan_compaction(in_use, most, space).size();
  };
  EXPECT_EQ(count(false, 1 << 20), 3U);
  EXPECT_EQ(count(true, 1 << 20), 1U);
  EXPECT_EQ(count(false, 2 * kib), 2U);
}

// For any file, moved bytes never overwrite data, and the file never becomes longer.
TEST(Compaction, of_random_files_nothing_is_overwritten) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<BytesInUse> in_use;
    Offset at = 0;
    const Count gap = Count{1} << (random() % 16);
    for (int i = 0; i < 60; ++i) {
      at += static_cast<Offset>(random() % static_cast<unsigned>(gap)) / 8 * 8;
      const auto bytes = static_cast<Count>(1 + random() % 5000);
      in_use.push_back({at, bytes});
      at += round_up(bytes, FileSpace::unit);
    }
    std::shuffle(in_use.begin(), in_use.end(), random);
    FileSpace space = space_around(in_use);
    const Offset end = space.end();
    const auto moves = plan_compaction(in_use, 1 << 20, space);
    std::vector<FileSpace::Range> ranges;
    for (const BytesInUse& each : in_use) ranges.push_back({each.offset, each.offset + each.bytes});
    for (const SpaceMove& move : moves)
      ranges.push_back({move.to, move.to + in_use[move.which].bytes});
    std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_LE(ranges[i - 1].end, ranges[i].begin);
    for (const SpaceMove& move : moves)
      space.release(in_use[move.which].offset, in_use[move.which].bytes);
    EXPECT_LE(space.end(), end);
    if (!moves.empty()) {
      EXPECT_LT(space.end(), end);
    }
  }
}

}  // namespace compaction_test
}  // namespace forebay
