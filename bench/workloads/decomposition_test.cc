#include "workloads/decomposition.h"

#include <gtest/gtest.h>

#include <set>

#include "workloads/cubed_sphere.h"

namespace forebay::bench {
namespace {

std::vector<std::int64_t> elements_of(const Decomposition& part) {
  std::vector<std::int64_t> out;
  for (const Run& run : part.runs) {
    for (std::int64_t k = 0; k < run.length; ++k) out.push_back(run.offset + k);
  }
  return out;
}

TEST(Decomposition, deals_map_ranks_in_blocks_to_any_number_of_ranks) {
  for (int ranks : {1, 3, 4, 16, 20}) {
    int next = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const MapShare share = share_of(rank, ranks, 16);
      EXPECT_EQ(share.first, next);
      EXPECT_LE(share.last - share.first, 16 / ranks + 1);
      next = share.last;
    }
    EXPECT_EQ(next, 16);
  }
}

TEST(Decomposition, cuts_runs_at_rows_and_sorts_them) {
  Decomposition part{{3, 4}, {{6, 5, false}, {1, 1, false}}};
  sort_and_cut(part);
  ASSERT_EQ(part.runs.size(), 3u);
  EXPECT_EQ(elements_of(part), (std::vector<std::int64_t>{1, 6, 7, 8, 9, 10}));
  EXPECT_EQ(part.runs[1].length, 2);
}

TEST(Decomposition, tiles_along_the_fastest_dimension) {
  const Decomposition part{{2, 3}, {{1, 3, false}}};  // (0,1) (0,2) (1,0)
  Decomposition tiled = tile(part, 2, 1);
  EXPECT_EQ(tiled.dims, (std::vector<std::int64_t>{2, 6}));
  sort_and_cut(tiled);
  EXPECT_EQ(elements_of(tiled), (std::vector<std::int64_t>{1, 2, 4, 5, 6, 9}));
}

TEST(Decomposition, tiles_along_the_slowest_dimension) {
  const Decomposition part{{3, 2}, {{2, 2, true}}};
  const Decomposition tiled = tile(part, 3, 0);
  EXPECT_EQ(tiled.dims, (std::vector<std::int64_t>{9, 2}));
  EXPECT_EQ(elements_of(tiled), (std::vector<std::int64_t>{2, 3, 8, 9, 14, 15}));
  EXPECT_TRUE(tiled.runs.back().fill);
}

TEST(Pieces, merges_what_touches_within_a_row_only) {
  Decomposition part{{2, 4}, {{2, 1, false}, {3, 1, true}, {4, 2, false}}};
  sort_and_cut(part);
  Pieces merged(part, true);
  ASSERT_EQ(merged.count(), 2);
  EXPECT_EQ(merged.elements(), 4);
  EXPECT_EQ(merged.fixed_starts()[0][1], 2);
  EXPECT_EQ(merged.fixed_counts()[0][1], 2);
  EXPECT_EQ(merged.fixed_starts()[1][0], 1);
  EXPECT_EQ(merged.fixed_starts()[1][1], 0);
  EXPECT_EQ(merged.runs().size(), 3u);
  EXPECT_EQ(Pieces(part, false).count(), 3);
}

TEST(Pieces, set_record_changes_record_starts_alone) {
  Decomposition part{{4}, {{1, 2, false}}};
  Pieces pieces(part, true);
  pieces.set_record(5);
  EXPECT_EQ(pieces.record_starts()[0][0], 5);
  EXPECT_EQ(pieces.record_starts()[0][1], 1);
  EXPECT_EQ(pieces.record_counts()[0][0], 1);
  EXPECT_EQ(pieces.fixed_starts()[0][0], 1);
}

TEST(CubedSphere, has_54_ne_squared_plus_2_columns) {
  for (int ne : {1, 2, 3, 4, 7, 30}) {
    EXPECT_EQ(make_cubed_sphere(ne, 4).columns, 54 * ne * ne + 2) << ne;
  }
}

TEST(CubedSphere, gives_every_column_to_one_rank_and_balances_physics) {
  constexpr int kRanks = 16;
  const CubedSphere sphere = make_cubed_sphere(4, kRanks);
  for (const auto& owner : {sphere.dynamics_owner, sphere.physics_owner}) {
    std::vector<int> held(kRanks, 0);
    for (std::int32_t rank : owner) {
      ASSERT_GE(rank, 0);
      ASSERT_LT(rank, kRanks);
      ++held[static_cast<std::size_t>(rank)];
    }
  }
  std::vector<int> held(kRanks, 0);
  for (std::int32_t rank : sphere.physics_owner) ++held[static_cast<std::size_t>(rank)];
  for (int columns : held) {
    EXPECT_GE(columns, 52);  // as in the recorded case: 866 columns in 64 chunks
    EXPECT_LE(columns, 56);
  }
}

TEST(CubedSphere, covers_all_elements_once_over_the_shares) {
  const CubedSphere sphere = make_cubed_sphere(2, 6);
  const OwnedColumns columns(sphere.physics_owner, 6);
  std::set<std::int64_t> seen;
  std::size_t total = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const Decomposition part = columns.of(share_of(rank, 4, 6), 3, false);
    EXPECT_EQ(part.dims, (std::vector<std::int64_t>{3, sphere.columns}));
    for (std::int64_t e : elements_of(part)) seen.insert(e);
    total += elements_of(part).size();
  }
  EXPECT_EQ(seen.size(), total);
  EXPECT_EQ(total, static_cast<std::size_t>(3 * sphere.columns));
}

}  // namespace
}  // namespace forebay::bench
