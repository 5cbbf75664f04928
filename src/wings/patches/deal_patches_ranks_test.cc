#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <tuple>

#include "comm/thread_ranks.h"
#include "patches/deal_patches.h"

namespace forebay::patches {
namespace deal_patches_ranks_test {

using chunked::Access, chunked::Operation, chunked::PlannedChunk;

constexpr std::int32_t no_patches = 2;  // a variable

bool is_patch(const PlannedChunk& c) { return c.var != no_patches; }

/// By variable, chunk and rank. The last rank (of several) touches nothing, lower ones touch more.
std::vector<Access> random_accesses(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Access> all;
  const int active = ranks > 2 ? ranks - 1 : ranks;
  for (std::int32_t var = 0; var < 4; ++var)
    for (Count id = 0; id < 15; ++id)
      for (Rank r = 0; r < active; ++r)
        if (random() % static_cast<unsigned>(r + 2) < 2)
          all.push_back({var, r, id, 1 + static_cast<Count>(random() % 100), 0});
  return all;
}

struct Plan {
  Operation op;
  std::vector<Access> mine;
};

/// The plan before patches are assigned.
Plan plan_of(const std::vector<Access>& all, Rank rank, int ranks) {
  Plan plan;
  adopt_accesses(plan.op, all);
  choose_owners(
      plan.op,
      [](VarId, Count) {
        return ChunkWork{400, 400};
      },
      ranks);
  for (const Access& a : all)
    if (a.rank == rank) plan.mine.push_back(a);
  return plan;
}

using Told = std::vector<std::tuple<Rank, Count, bool>>;

Told told(const Operation& op) {
  Told all;
  for (const PlannedChunk& c : op.chunks) all.emplace_back(c.owner, c.local, c.shared);
  return all;
}

/// The common result of all ranks, some of which are late.
Told dealt(const std::vector<Access>& all, int ranks, std::size_t alone, bool tell) {
  std::vector<Told> of(static_cast<std::size_t>(ranks));
  run_as_threads(ranks, [&](const Comm& comm) {
    if (comm.rank() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Plan plan = plan_of(all, comm.rank(), ranks);
    if (!tell) plan.mine.clear();
    deal_patches(comm, plan.op, plan.mine, is_patch, alone);
    of[static_cast<std::size_t>(comm.rank())] = told(plan.op);
  });
  for (const Told& its : of) EXPECT_EQ(its, of[0]);
  return of[0];
}

// Each rank plans alone up to the limit, and all plan together beyond it. Planning alone needs no
// messages, and planning together does not use the known accesses of others.
TEST(DealPatches, both_ways_come_to_the_same_owners) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const auto all = random_accesses(ranks, seed);
      const std::size_t limit = all.size() + static_cast<std::size_t>(ranks);
      const Told before = told(plan_of(all, 0, ranks).op);
      const Told alone = dealt(all, ranks, limit, false);
      EXPECT_EQ(dealt(all, ranks, limit - 1, true), alone);
      EXPECT_EQ(dealt(all, ranks, limit - 1, false), before);
      const Operation op = plan_of(all, 0, ranks).op;
      std::vector<Count> patches(static_cast<std::size_t>(ranks));
      for (std::size_t i = 0; i < op.chunks.size(); ++i) {
        if (is_patch(op.chunks[i]))
          ++patches[static_cast<std::size_t>(std::get<0>(alone[i]))];
        else
          EXPECT_EQ(alone[i], before[i]);
      }
      const auto [least, most] = std::ranges::minmax(patches);
      EXPECT_LE(most, least + 1);
    }
  }
}

}  // namespace deal_patches_ranks_test
}  // namespace forebay::patches
