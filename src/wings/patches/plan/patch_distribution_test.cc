#include "patches/plan/patch_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.h"
#include "patches/plan/patch_distribution_testing.h"

namespace forebay {
namespace patch_distribution_test {

using Histogram = std::map<Count, Count>;

void expect_targets(std::span<const Rank> owners, int ranks, Count patches) {
  const auto counts = patch_counts(owners, ranks);
  for (Rank r = 0; r < ranks; ++r)
    ASSERT_EQ(counts[static_cast<std::size_t>(r)], patch_target(r, ranks, patches)) << "rank " << r;
}

TEST(PatchTarget, targets_sum_to_all_patches_and_differ_by_one) {
  for (const int ranks : {1, 2, 7, 16, 1000}) {
    for (const Count patches : {0, 1, 6, 7, 16, 999, 12345}) {
      Count sum = 0;
      for (Rank r = 0; r < ranks; ++r) {
        const Count target = patch_target(r, ranks, patches);
        EXPECT_TRUE(target == patches / ranks || target == patches / ranks + 1);
        sum += target;
        // The remainder is spread evenly: the first ranks have their share of it.
        EXPECT_EQ(sum, (r + 1) * patches / ranks);
      }
    }
  }
  EXPECT_EQ(patch_target(1000000, 1 << 24, Count{1} << 62), Count{1} << 38);
}

// Fan et al. 2021, fig. 6a.
TEST(PatchDistribution, four_thousand_ranks_have_three_or_four_patches_of_a_cube) {
  const PatchDomain domain({1600, 1600, 1600}, {16, 16, 16}, 64);
  ASSERT_EQ(domain.patches(), 15625);
  const PatchHolders holders(domain);
  const auto greedy = greedy_owners(holders);
  EXPECT_EQ(ranks_by_patches(greedy, 4096), (Histogram{{1, 343}, {2, 1323}, {4, 1701}, {8, 729}}));
  EXPECT_NEAR(moved(domain, greedy), 0.41, 0.005);

  const Histogram balanced{{3, 759}, {4, 3337}};
  const auto sequential = sequential_owners(holders, 4096);
  EXPECT_EQ(ranks_by_patches(sequential, 4096), balanced);
  EXPECT_NEAR(moved(domain, sequential), 0.57, 0.005);

  const PatchOwners ours = distribute(domain);
  EXPECT_EQ(ranks_by_patches(ours.owners, 4096), balanced);
  expect_targets(ours.owners, 4096, 15625);
  EXPECT_NEAR(moved(domain, ours.owners), 0.46, 0.005);
  EXPECT_LE(ours.rounds, PatchDistribution::most_rounds);
  EXPECT_LE(ours.dealt, 15625 / 20);
}

// Ranks in the last layer hold more patches alone than their share.
TEST(PatchDistribution, patches_of_one_rank_alone_move_where_it_has_too_many) {
  const PatchDomain domain({2025, 1600, 400}, {16, 16, 16}, 32);
  ASSERT_EQ(domain.patches(), 41600);
  const auto sequential = ranks_by_patches(sequential_owners(PatchHolders(domain), 4096), 4096);
  EXPECT_EQ(sequential.begin()->first, 4);
  EXPECT_EQ(sequential.rbegin()->first, 12);
  const PatchOwners ours = distribute(domain);
  EXPECT_EQ(ranks_by_patches(ours.owners, 4096), (Histogram{{10, 3456}, {11, 640}}));
  EXPECT_NEAR(moved(domain, ours.owners), 0.457, 0.005);
}

TEST(PatchDistribution, thirty_thousand_ranks_are_balanced) {
  const PatchDomain domain({3200, 3200, 3200}, {32, 32, 32}, 64);
  const PatchOwners ours = distribute(domain);
  expect_targets(ours.owners, 32768, 125000);
  EXPECT_NEAR(moved(domain, ours.owners), 0.46, 0.01);
}

TEST(PatchDistribution, patches_aligned_with_blocks_stay) {
  const PatchDomain domain({64, 64, 64}, {4, 2, 2}, 8);
  const PatchOwners ours = distribute(domain);
  EXPECT_EQ(moved(domain, ours.owners), 0);
  EXPECT_EQ(ours.rounds, 1);
  EXPECT_EQ(ours.dealt, 0);
}

TEST(PatchDistribution, of_what_one_rank_has_alone_it_keeps_the_largest) {
  const auto all_at_two = [](Rank r, std::vector<PatchPart>& parts) {
    parts.clear();
    for (Count p = 0; r == 2 && p < 12; ++p) parts.push_back({p, 10 + p * 5 % 12});
  };
  const PatchOwners ours = distribute(4, 12, all_at_two);
  expect_targets(ours.owners, 4, 12);
  for (const std::size_t largest : {7U, 2U, 9U}) EXPECT_EQ(ours.owners[largest], 2);
  EXPECT_EQ(ours.dealt, 9);
}

TEST(PatchDistribution, empty_ranks_get_patches_too_and_empty_patches_are_nobodys) {
  const auto parts_of = [](Rank r, std::vector<PatchPart>& parts) {
    parts.clear();
    for (Count p = r; r < 3 && p < 30; p += 3)
      if (p % 5 != 0) parts.push_back({p * 1000, 8});
  };
  const PatchOwners ours = distribute(5, 30000, parts_of);
  expect_targets(ours.owners, 5, 24);
  EXPECT_EQ(std::count(ours.owners.begin(), ours.owners.end(), -1), 30000 - 24);
}

TEST(PatchDistribution, fewer_patches_than_ranks_go_to_one_rank_each) {
  const auto parts_of = [](Rank r, std::vector<PatchPart>& parts) {
    parts.clear();
    for (Count p = 0; p < 5; ++p) parts.push_back({p, 100 + r});
  };
  const PatchOwners ours = distribute(9, 5, parts_of);
  expect_targets(ours.owners, 9, 5);
}

TEST(PatchDistribution, a_home_asks_nobody_of_whom_it_knows_to_be_full) {
  std::vector<Count> ids;  // with the same home
  for (Count id = 0; ids.size() < 6; ++id)
    if (home_of_patch(id, 3) == 1) ids.push_back(id);
  const auto parts_of = [&](Rank r, std::vector<PatchPart>& parts) {
    parts.clear();
    for (std::size_t i = 0; i < 6; ++i) {
      if (i >= 2 || r == 0)
        parts.push_back({ids[i], std::vector<Count>{40, 50, 30}[std::size_t(r)]});
    }
  };
  // Two proposals fill rank 0, two of four fill rank 1; the other two go directly to rank 2.
  const PatchOwners ours = distribute(3, ids.back() + 1, parts_of);
  EXPECT_EQ(ours.rounds, 2);
  EXPECT_EQ(ours.dealt, 0);
}

TEST(PatchDistribution, without_patches_nothing_is_sent) {
  const PatchOwners ours = distribute(3, 0, [](Rank, auto& parts) { parts.clear(); });
  EXPECT_EQ(ours.notes, 0);
  EXPECT_EQ(ours.rounds, 0);
}

TEST(PatchDistribution, parts_of_one_rank_in_a_patch_count_together) {
  // Rank 1 has most of patch 0, in three parts.
  const auto parts_of = [](Rank r, std::vector<PatchPart>& parts) {
    parts.assign({{r, 1}});
    if (r == 0) parts.push_back({0, 9});
    if (r == 1) parts.assign({{0, 4}, {0, 4}, {0, 4}, {1, 1}});
  };
  EXPECT_EQ(distribute(2, 2, parts_of).owners, (std::vector<Rank>{1, 0}));
}

TEST(PatchDistribution, every_rank_meets_its_target_over_random_parts_in_any_order_of_notes) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](Count n) { return static_cast<Count>(random()) % n; };
    const int ranks = static_cast<int>(1 + below(seed % 2 != 0 ? 40 : 6));
    const Count patches = 1 + below(200);
    const Count holding = 1 + below(ranks);  // few ranks may have all patches
    std::vector<std::vector<PatchPart>> parts(static_cast<std::size_t>(ranks));
    std::vector<bool> held(static_cast<std::size_t>(patches));
    for (Count p = 0; p < patches; ++p) {
      for (Count r = 0; r < holding; ++r) {
        if (below(3) != 0) continue;
        parts[static_cast<std::size_t>(r)].push_back({p, 1 + below(seed % 3 != 0 ? 1000 : 2)});
        held[static_cast<std::size_t>(p)] = true;
      }
    }
    const auto parts_of = [&](Rank r, std::vector<PatchPart>& its) {
      its = parts[static_cast<std::size_t>(r)];
    };
    const PatchOwners ours = distribute(ranks, patches, parts_of);
    expect_targets(ours.owners, ranks, std::count(held.begin(), held.end(), true));
    for (std::size_t p = 0; p < held.size(); ++p) EXPECT_EQ(ours.owners[p] >= 0, held[p]);
    for (auto& its : parts) std::reverse(its.begin(), its.end());
    EXPECT_EQ(distribute(ranks, patches, parts_of, true).owners, ours.owners);
  }
}

TEST(PatchDistribution, verdicts_come_to_holders_and_owners_with_what_they_wait_for) {
  // Rank 0 has most of patches 0 to 5, and rank 1 less of each; rank 2 gets two without having a
  // part.
  std::vector<PatchDistribution> all{{0, 3}, {1, 3}, {2, 3}};
  PlanMailbox<PatchPart> told(3);
  for (Rank r = 0; r < 2; ++r) {
    std::vector<PatchPart> parts;
    for (Count p = 0; p < 6; ++p) parts.push_back({p, 20 - 10 * r});
    Notes<PatchPart> out;
    all[static_cast<std::size_t>(r)].tell(parts, out);
    told.send(r, out);
  }
  told.deliver([&](Rank r, auto in) { all[static_cast<std::size_t>(r)].hear(in); });
  Count patches = 0;
  for (auto& rank : all) patches += rank.look();
  ASSERT_EQ(patches, 6);
  for (auto& rank : all) rank.begin(patches);
  // Without any rounds, all patches are assigned at the end.
  PlanMailbox<DealtPlaces> rooms(3), wanted(3);
  Notes<DealtPlaces> out_rooms, out_wanted;
  Count left = 0;
  for (Rank r = 0; r < 3; ++r) {
    auto& rank = all[static_cast<std::size_t>(r)];
    rank.lay_out(2 * r, left, 6, out_rooms, out_wanted);
    left += rank.left();
    rooms.send(r, out_rooms);
    wanted.send(r, out_wanted);
  }
  std::vector<Notes<DealtPlaces>> rooms_at(3), wanted_at(3);
  rooms.deliver([&](Rank r, auto in) { rooms_at[std::size_t(r)].assign(in.begin(), in.end()); });
  wanted.deliver([&](Rank r, auto in) { wanted_at[std::size_t(r)].assign(in.begin(), in.end()); });
  PlanMailbox<DealtRoom> dealt(3);
  Notes<DealtRoom> out_dealt;
  for (Rank r = 0; r < 3; ++r) {
    PatchDistribution::match(rooms_at[std::size_t(r)], wanted_at[std::size_t(r)], out_dealt);
    dealt.send(r, out_dealt);
  }
  dealt.deliver([&](Rank r, auto in) { all[static_cast<std::size_t>(r)].hear(in); });
  PlanMailbox<PatchVerdict> verdicts(3);
  Notes<PatchVerdict> out;
  for (Rank r = 0; r < 3; ++r) {
    all[static_cast<std::size_t>(r)].decide(out);
    verdicts.send(r, out);
  }
  std::map<Rank, Count> heard, owned;
  verdicts.deliver([&](Rank r, auto in) {
    for (const auto& [home, verdict] : in) {
      EXPECT_EQ(home, home_of_patch(verdict.patch, 3));
      EXPECT_EQ(verdict.bytes, 30);
      EXPECT_EQ(verdict.parts, 2);
      ++heard[r];
      owned[r] += verdict.owner == r;
    }
  });
  EXPECT_EQ(heard, (std::map<Rank, Count>{{0, 6}, {1, 6}, {2, 2}}));
  EXPECT_EQ(owned, (std::map<Rank, Count>{{0, 2}, {1, 2}, {2, 2}}));
}

TEST(PatchDistribution, what_cannot_be_is_refused) {
  EXPECT_THROW(PatchDistribution(0, 0), Error);
  EXPECT_THROW(PatchDistribution(3, 3), Error);
  EXPECT_THROW(PatchDistribution(-1, 3), Error);
  PatchDistribution one(0, 1);
  Notes<PatchPart> out;
  EXPECT_THROW(one.tell(std::vector<PatchPart>{{-1, 1}}, out), Error);
  EXPECT_THROW(one.tell(std::vector<PatchPart>{{0, 0}}, out), Error);
  one.hear(std::vector<PlanMessage<PatchPart>>{{0, {7, 1}}});
  EXPECT_EQ(one.look(), 1);
  EXPECT_THROW(one.begin(0), Error);
  EXPECT_THROW(one.hear(std::vector<PlanMessage<PatchAnswer>>{{0, {1, 1, 0}}}), Error);
  Notes<PatchVerdict> verdicts;
  EXPECT_THROW(one.decide(verdicts), Error);
}

}  // namespace patch_distribution_test
}  // namespace forebay
