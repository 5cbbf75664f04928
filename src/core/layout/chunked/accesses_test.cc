#include "layout/chunked/accesses.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace forebay::chunked {
namespace accesses_test {

struct Case {
  std::vector<PlannedChunk> chunks;
  std::vector<ChunkAccess> accesses;
  int ranks = 1;
};

Case random_case(std::mt19937& random) {
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  Case c;
  c.ranks = static_cast<int>(pick(1, 8));
  const Count chunks = pick(1, 60);
  for (Count i = 0; i < chunks; ++i) {
    PlannedChunk chunk;
    chunk.var = static_cast<std::int32_t>(i / 10);
    chunk.id = i % 10;
    chunk.bytes = pick(1, 100);
    chunk.owner = static_cast<Rank>(pick(0, c.ranks - 1));
    chunk.shared = pick(0, 3) > 0;
    c.chunks.push_back(chunk);
    for (Rank r = 0; r < c.ranks; ++r) {  // none, some or all ranks
      if (pick(0, 2) != 0) continue;
      const ChunkAccess a{static_cast<std::uint32_t>(i), r, pick(1, chunk.bytes)};
      c.accesses.push_back(a);
      c.chunks.back().touched += a.bytes;
      if (r == chunk.owner) c.chunks.back().local = a.bytes;
    }
  }
  return c;
}

/// What one rank holds or sends in one round: bytes and chunks.
struct Use {
  Count bytes = 0;
  std::set<std::uint32_t> chunks;
  void add(Count n, std::uint32_t chunk) {
    bytes += n;
    chunks.insert(chunk);
  }
};

/// Only what owners hold is limited.
RoundLimits limits_of(Count owned) {
  RoundLimits limits;
  limits.owned = owned;
  limits.shared = limits.sent = 1 << 20;
  return limits;
}

TEST(PlanRounds, keep_every_limit_that_single_chunks_do_not_break) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    Case c = random_case(random);
    RoundLimits limits;
    limits.owned = std::uniform_int_distribution<Count>(1, 400)(random);
    limits.shared = std::uniform_int_distribution<Count>(1, limits.owned)(random);
    limits.sent = std::uniform_int_distribution<Count>(1, 400)(random);
    limits.owners_send = round % 2 == 1;
    const auto rounds = plan_rounds(c.chunks, {c.accesses}, c.ranks, limits);
    std::map<std::pair<std::uint32_t, Rank>, Use> held, shared, sent;
    std::vector<int> of_round(rounds, 0);
    std::map<Rank, std::uint32_t> last;
    for (std::uint32_t i = 0; i < c.chunks.size(); ++i) {
      const PlannedChunk& chunk = c.chunks[i];
      ASSERT_LT(chunk.round, rounds);
      ++of_round[chunk.round];
      held[{chunk.round, chunk.owner}].add(chunk.bytes, i);
      if (chunk.shared) shared[{chunk.round, chunk.owner}].add(chunk.bytes, i);
      const auto [before, first] = last.try_emplace(chunk.owner, chunk.round);
      EXPECT_LE(before->second, chunk.round) << "an owner's chunks stay in order";
      before->second = chunk.round;
    }
    for (const ChunkAccess& a : c.accesses) {
      const PlannedChunk& chunk = c.chunks[a.chunk];
      if (a.rank == chunk.owner) continue;
      sent[{chunk.round, limits.owners_send ? chunk.owner : a.rank}].add(a.bytes, a.chunk);
    }
    for (const int n : of_round) EXPECT_GT(n, 0) << "no round is empty";
    for (const auto& [who, use] : held)
      EXPECT_TRUE(use.bytes <= limits.owned || use.chunks.size() == 1);
    for (const auto& [who, use] : shared)
      EXPECT_TRUE(use.bytes <= limits.shared || use.chunks.size() == 1);
    for (const auto& [who, use] : sent)
      EXPECT_TRUE(use.bytes <= limits.sent || use.chunks.size() == 1);
  }
}

TEST(PlanRounds, one_round_is_enough_where_limits_allow) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    Case c = random_case(random);
    EXPECT_EQ(plan_rounds(c.chunks, {c.accesses}, c.ranks, limits_of(1 << 20)), 1u);
  }
}

TEST(PlanRounds, owners_have_equally_much_to_do_in_each) {
  Case c;
  c.ranks = 4;
  for (std::uint32_t i = 0; i < 40; ++i) {
    PlannedChunk chunk;
    chunk.id = i;
    chunk.bytes = 10;
    chunk.owner = static_cast<Rank>(i / 10);  // owners one after another
    c.chunks.push_back(chunk);
  }
  EXPECT_EQ(plan_rounds(c.chunks, {}, c.ranks, limits_of(20)), 5u);
  std::map<std::pair<std::uint32_t, Rank>, int> count;
  for (const PlannedChunk& chunk : c.chunks) ++count[{chunk.round, chunk.owner}];
  EXPECT_EQ(count.size(), 20u);
  for (const auto& [who, n] : count) EXPECT_EQ(n, 2);
}

TEST(PlanRounds, what_only_its_owner_touches_does_not_count_as_sent) {
  Case c;
  c.ranks = 2;
  c.chunks.resize(2);
  c.chunks[0].touched = 200;  // by rank 1
  c.chunks[1].touched = c.chunks[1].local = 100;
  c.accesses = {{0, 1, 200}, {1, 0, 100}};
  RoundLimits limits = limits_of(1000);
  limits.sent = 100;
  for (const bool owners_send : {false, true}) {
    limits.owners_send = owners_send;
    EXPECT_EQ(plan_rounds(c.chunks, {c.accesses}, c.ranks, limits), 1u);
  }
}

TEST(PlanRounds, nothing_takes_no_round) { EXPECT_EQ(plan_rounds({}, {}, 3, limits_of(10)), 0u); }

TEST(GatherAccesses, one_process_knows_its_own) {
  const Comm alone;
  const Access mine{2, 9, 5, 100, covers_chunk};
  const auto all = gather_accesses(alone, std::span(&mine, 1), 0);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ((*all)[0].rank, 0);
  EXPECT_EQ((*all)[0].var, 2);
  EXPECT_EQ((*all)[0].flags, covers_chunk);
}

}  // namespace accesses_test
}  // namespace forebay::chunked
