#include "plan/chunk_owners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "base/error.h"
#include "plan/chunk_owners_testing.h"

namespace forebay {
namespace chunk_owners_test {

constexpr Count mib = Count{1} << 20;

using Pattern = OwnerPattern;

Errc code_of(const Pattern& p, int ranks, std::span<const double> before = {}, double penalty = 4) {
  try {
    (void)assign_owners(p.chunks, p.accesses, ranks, before, {.penalty = penalty});
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

TEST(ChunkOwners, nothing_moves_where_every_rank_writes_chunks_of_its_own) {
  for (int ranks : {1, 4, 16, 1000}) {
    for (int each : {1, 7}) {
      Pattern p;
      for (int k = 0; k < ranks * each; ++k) {
        p.add_chunk(0, mib, 0.1);
        p.accesses.push_back({static_cast<std::uint32_t>(k), k / each, mib});
      }
      const OwnerFacts facts = p.judge(p.owners(ranks), ranks);
      EXPECT_EQ(facts.bytes_moved, 0) << ranks << " ranks, " << each << " chunks each";
      EXPECT_EQ(facts.bytes_local, mib * ranks * each);
    }
  }
}

TEST(ChunkOwners, an_aligned_pattern_that_is_nearly_balanced_stays_where_it_is) {
  Pattern p;  // rank 0 has 5 % more than the others
  for (std::uint32_t k = 0; k < 16; ++k) {
    const Count bytes = k % 4 == 0 ? mib + mib / 20 : mib;
    p.add_chunk(0, bytes, static_cast<double>(bytes));
    p.accesses.push_back({k, static_cast<Rank>(k % 4), bytes});
  }
  EXPECT_EQ(p.judge(p.owners(4), 4).bytes_moved, 0);
}

// The paper's penalty disturbs this pattern, ours does not.
TEST(ChunkOwners, the_order_of_visiting_does_not_disturb_aligned_chunks) {
  Pattern p;
  for (std::uint32_t k = 0; k < 8; ++k) {
    p.add_chunk(0, mib, mib);
    p.accesses.push_back({k, static_cast<Rank>(k / 4), mib});
  }
  const auto linear = linear_penalty(p.chunks, p.accesses, 2, 1.0);
  EXPECT_GT(p.judge(linear, 2).bytes_moved, 0);
  EXPECT_EQ(p.owners(2), (std::vector<Rank>{0, 0, 0, 0, 1, 1, 1, 1}));
}

// The checkerboard of Hou 2023, §5.5.1: chunks twice as long in each dimension as a rank's block.
TEST(ChunkOwners, a_chunk_that_four_ranks_share_goes_to_one_of_them) {
  const int side = 8;
  Pattern p;
  for (int k = 0; k < side * side / 4; ++k) {
    p.add_chunk(0, mib, 1);
    const int corner = k / (side / 2) * 2 * side + k % (side / 2) * 2;
    for (int r : {corner, corner + 1, corner + side, corner + side + 1})
      p.accesses.push_back({static_cast<std::uint32_t>(k), r, mib / 4});
  }
  const OwnerFacts facts = p.judge(p.owners(side * side), side * side);
  EXPECT_EQ(facts.bytes_local, 16 * mib / 4);
  EXPECT_EQ(facts.busiest, 1);
}

TEST(ChunkOwners, block_append_moves_only_what_crosses_chunk_borders) {
  Pattern p;
  std::vector<Count> lengths;
  for (int r = 0; r < 64; ++r) lengths.push_back(16 * mib + (r % 3 - 1) * 1000);
  p.append_blocks(0, lengths, mib);
  const OwnerFacts facts = p.judge(p.owners(64), 64);
  EXPECT_LE(facts.bytes_moved, 64 * mib / 2);
  EXPECT_LE(facts.busiest, facts.mean + static_cast<double>(mib));
}

TEST(ChunkOwners, chunks_that_all_touch_equally_are_dealt_evenly) {
  Pattern p;
  for (std::uint32_t k = 0; k < 48; ++k) {
    p.add_chunk(0, mib, mib);
    for (Rank r = 0; r < 16; ++r) p.accesses.push_back({k, r, mib / 16});
  }
  const OwnerFacts facts = p.judge(p.owners(16), 16);
  EXPECT_DOUBLE_EQ(facts.busiest, facts.mean);
}

TEST(ChunkOwners, the_work_of_one_rank_that_writes_all_spreads_over_the_others) {
  Pattern p;
  for (std::uint32_t k = 0; k < 40; ++k) {
    p.add_chunk(0, mib, mib);
    p.accesses.push_back({k, 2, mib});
  }
  const auto owners = p.owners(4);
  const OwnerFacts facts = p.judge(owners, 4);
  EXPECT_DOUBLE_EQ(facts.busiest, facts.mean);
  EXPECT_EQ(facts.bytes_local, 10 * mib);  // it keeps what it may keep
}

TEST(ChunkOwners, fewer_chunks_than_ranks_go_to_one_rank_each) {
  Pattern p;  // all written by rank 0
  for (std::uint32_t k = 0; k < 5; ++k) {
    p.add_chunk(static_cast<int>(k), mib << k, static_cast<double>(mib << k));
    p.accesses.push_back({k, 0, mib << k});
  }
  const auto owners = p.owners(9);
  EXPECT_EQ(std::set<Rank>(owners.begin(), owners.end()).size(), 5U);
  EXPECT_EQ(owners[4], 0);  // the largest stays with its writer
}

TEST(ChunkOwners, chunks_without_access_go_to_idle_ranks) {
  Pattern p;
  for (int k = 0; k < 3; ++k) p.add_chunk(0, mib, mib);
  p.accesses.push_back({1, 0, mib});
  EXPECT_EQ(p.owners(3), (std::vector<Rank>{0, 1, 2}));
}

TEST(ChunkOwners, ranks_that_hold_buffers_from_before_get_less) {
  Pattern p;
  for (std::uint32_t k = 0; k < 6; ++k) {
    p.add_chunk(0, mib, 1);
    for (Rank r = 0; r < 3; ++r) p.accesses.push_back({k, r, mib / 3});
  }
  const std::vector<double> before{3, 0, 0};
  const auto owners = p.owners(3, before);
  EXPECT_EQ(std::count(owners.begin(), owners.end(), 0), 0);
  EXPECT_DOUBLE_EQ(p.judge(owners, 3, before).busiest, 3);
}

TEST(ChunkOwners, the_share_counts_what_is_there_from_before) {
  Pattern p;  // ranks 1 and 2 write four chunks each, to reach the level of rank 3
  for (std::uint32_t k = 0; k < 8; ++k) {
    p.add_chunk(0, mib, 1);
    p.accesses.push_back({k, static_cast<Rank>(1 + k / 4), mib});
  }
  const std::vector<double> before{10, 0, 0, 4};
  EXPECT_EQ(p.judge(p.owners(4, before), 4, before).bytes_moved, 0);
}

TEST(ChunkOwners, a_rank_overloaded_from_before_does_not_raise_the_share_of_the_others) {
  Pattern p;  // rank 1 writes all chunks; the mean over ranks would let it keep them
  for (std::uint32_t k = 0; k < 8; ++k) {
    p.add_chunk(0, mib, 1);
    p.accesses.push_back({k, 1, mib});
  }
  const std::vector<double> before{100, 0, 0};
  EXPECT_EQ(p.judge(p.owners(3, before), 3, before).bytes_local, 4 * mib);
}

TEST(ChunkOwners, work_decides_the_balance_and_bytes_the_affinity) {
  // Rank 0 writes raw chunks (hardly any work), rank 1 as many bytes that are expensive to encode.
  Pattern p;
  for (std::uint32_t k = 0; k < 8; ++k) {
    p.add_chunk(0, mib, k < 4 ? 0.01 : 1);
    p.accesses.push_back({k, k < 4 ? 0 : 1, mib});
  }
  const auto owners = p.owners(2);
  EXPECT_EQ(std::count(owners.begin(), owners.begin() + 4, 0), 4);
  EXPECT_EQ(std::count(owners.begin() + 4, owners.end(), 1), 2);
}

TEST(ChunkOwners, scaling_all_work_changes_nothing) {
  Pattern p;
  std::mt19937 random(3);
  for (std::uint32_t k = 0; k < 200; ++k) {
    const Count bytes = 1 + static_cast<Count>(random() % mib);
    p.add_chunk(0, bytes, static_cast<double>(bytes));
    p.accesses.push_back({k, static_cast<Rank>(random() % 7), bytes});
  }
  const auto owners = p.owners(9);
  for (ChunkWork& c : p.chunks) c.work *= 1.0 / 1024;
  EXPECT_EQ(p.owners(9), owners);
}

TEST(ChunkOwners, no_chunks_no_owners) {
  EXPECT_TRUE(Pattern{}.owners(5).empty());
  EXPECT_EQ(Pattern{}.judge({}, 5).busiest, 0);
  Pattern weightless;
  weightless.add_chunk(0, 0, 0);
  EXPECT_EQ(weightless.owners(2), std::vector<Rank>{0});
}

TEST(ChunkOwners, impossible_arguments_are_refused) {
  Pattern p;
  p.add_chunk(0, 8, 1);
  p.accesses = {{0, 0, 4}, {0, 1, 4}};
  EXPECT_EQ(code_of(p, 2), Errc::ok);
  EXPECT_EQ(code_of(p, 1), Errc::einternal);  // a rank that does not exist
  EXPECT_EQ(code_of(p, 0), Errc::einternal);
  EXPECT_EQ(code_of(p, 2, std::vector<double>{1}), Errc::einternal);
  EXPECT_EQ(code_of(p, 2, {}, -1), Errc::einternal);
  EXPECT_EQ(code_of(p, 2, {}, std::numeric_limits<double>::infinity()), Errc::einternal);
  Pattern q = p;
  q.chunks[0].work = std::nan("");
  EXPECT_EQ(code_of(q, 2), Errc::einternal);
  q = p;
  q.accesses = {{0, 1, 4}, {0, 0, 4}};
  EXPECT_EQ(code_of(q, 2), Errc::einternal);
  q.accesses = {{0, 1, 4}, {0, 1, 4}};
  EXPECT_EQ(code_of(q, 2), Errc::einternal);
  q.accesses = {{1, 1, 4}};
  EXPECT_EQ(code_of(q, 2), Errc::einternal);
}

TEST(ChunkOwners, many_variables_of_few_chunks_spread_over_the_ranks) {
  for (int ranks : {16, 4096}) {
    const Pattern p = event_groups(ranks, 5e3, 1);
    ASSERT_EQ(p.variable.back(), 107);
    const auto owners = p.owners(ranks);
    const OwnerFacts ours = p.judge(owners, ranks);
    const OwnerFacts hdf5 = p.judge(largest_access_wins(p.accesses, ranks, p.variable), ranks);
    double largest = 0;
    for (const ChunkWork& c : p.chunks) largest = std::max(largest, c.work);
    // No assignment can be below either of these.
    const double optimum = std::max(ours.mean, largest);
    EXPECT_LE(ours.busiest, 1.1 * optimum) << ranks;
    EXPECT_GE(hdf5.busiest, 2 * ours.busiest) << ranks;
    const std::size_t used = std::set<Rank>(owners.begin(), owners.end()).size();
    EXPECT_GE(10 * used, 9 * std::min(p.chunks.size(), static_cast<std::size_t>(ranks)));
  }
}

TEST(ChunkOwners, the_best_few_accesses_of_each_chunk_suffice_for_balance) {
  const int ranks = 64;
  Pattern p = event_groups(ranks, 5e3, 2);
  const double all = p.judge(p.owners(ranks), ranks).busiest;
  std::vector<ChunkAccess> few;
  for (std::size_t i = 0; i < p.accesses.size(); ++i) {
    if (i == 0 || p.accesses[i].chunk != p.accesses[i - 1].chunk) few.push_back(p.accesses[i]);
  }
  p.accesses = few;
  EXPECT_LE(p.judge(p.owners(ranks), ranks).busiest, 1.1 * all);
}

TEST(ChunkOwners, the_bounds_hold_over_random_patterns) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<Count>(random() % n); };
    const int ranks = static_cast<int>(1 + below(seed % 2 ? 40 : 5));
    Pattern p;
    const Count chunks = below(100);
    Count touched = 0;
    double largest = 0;
    for (Count k = 0; k < chunks; ++k) {
      const Count bytes = 1 + (Count{1} << below(22));
      p.add_chunk(0, bytes, static_cast<double>(bytes) * static_cast<double>(1 + below(9)));
      largest = std::max(largest, p.chunks.back().work);
      for (Rank r = 0; r < ranks; ++r) {
        if (below(4)) continue;
        p.accesses.push_back({static_cast<std::uint32_t>(k), r, below(unsigned(bytes)) + 1});
        touched += p.accesses.back().bytes;
      }
    }
    std::vector<double> before;
    double most_before = 0;
    for (int r = 0; seed % 3 == 0 && r < ranks; ++r) {
      before.push_back(static_cast<double>(below(1U << below(25))));
      most_before = std::max(most_before, before.back());
    }
    const double penalty = static_cast<double>(below(10));
    const auto owners = assign_owners(p.chunks, p.accesses, ranks, before, {.penalty = penalty});
    ASSERT_EQ(owners.size(), p.chunks.size());
    const OwnerFacts facts = p.judge(owners, ranks, before);
    EXPECT_LE(facts.busiest, std::max(most_before, facts.mean + largest) * (1 + 1e-12))
        << "seed " << seed;
    EXPECT_EQ(facts.bytes_moved + facts.bytes_local, touched) << "seed " << seed;
    EXPECT_EQ(assign_owners(p.chunks, p.accesses, ranks, before, {.penalty = penalty}), owners);
  }
}

}  // namespace chunk_owners_test
}  // namespace forebay
