#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "layout/chunked/homes.h"
#include "layout/chunked/operation.h"

namespace forebay::chunked {
namespace homes_ranks_test {

constexpr int all_sizes[] = {1, 2, 3, 4, 7};

/// The accesses of each rank, and sizes and work by chunk.
struct Pattern {
  std::vector<std::vector<Access>> of_rank;
  std::map<std::pair<std::int32_t, Count>, ChunkWork> costs;

  explicit Pattern(int ranks) : of_rank(static_cast<std::size_t>(ranks)) {}
  int ranks() const { return static_cast<int>(of_rank.size()); }
  CostOf cost() const {
    return [this](VarId var, Count id) { return costs.at({var, id}); };
  }
  double mean() const {
    double work = 0;
    for (const auto& [chunk, cost] : costs) work += cost.work;
    return work / ranks();
  }
  double largest() const {
    double work = 0;
    for (const auto& [chunk, cost] : costs) work = std::max(work, cost.work);
    return work;
  }
};

/// The last rank (of several) touches nothing; the others touch random chunks, some in part.
Pattern random_pattern(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  Pattern p(ranks);
  const int active = ranks > 2 ? ranks - 1 : ranks;
  for (std::int32_t var = 0; var < 4; ++var) {
    for (Count id = 0; id < 12; ++id) {
      const Count bytes = pick(1, 1000);
      for (Rank r = 0; r < active; ++r) {
        if (pick(0, 2) != 0) continue;
        const bool covers = pick(0, 4) == 0;
        p.of_rank[static_cast<std::size_t>(r)].push_back(
            {var, 0, id, covers ? bytes : pick(1, bytes), covers ? covers_chunk : 0});
        p.costs[{var, id}] = {bytes, static_cast<double>(bytes) * (var == 3 ? 0.02 : 1)};
      }
    }
  }
  return p;
}

/// Three variables in which each rank has four consecutive chunks.
Pattern own_chunks(int ranks) {
  Pattern p(ranks);
  for (std::int32_t var = 0; var < 3; ++var) {
    for (Count id = 0; id < 4 * ranks; ++id) {
      p.of_rank[static_cast<std::size_t>(id / 4)].push_back({var, 0, id, 100, covers_chunk});
      p.costs[{var, id}] = {100, 100};
    }
  }
  return p;
}

/// The result of adopt_accesses and choose_owners, which know all accesses.
Operation known_to_all(const Pattern& p) {
  std::vector<Access> all;
  for (Rank r = 0; r < p.ranks(); ++r)
    for (Access a : p.of_rank[static_cast<std::size_t>(r)]) {
      a.rank = r;
      all.push_back(a);
    }
  std::sort(all.begin(), all.end(), [](const Access& a, const Access& b) {
    return std::tie(a.var, a.id, a.rank) < std::tie(b.var, b.id, b.rank);
  });
  Operation op;
  adopt_accesses(op, all);
  choose_owners(op, p.cost(), p.ranks());
  return op;
}

Count access_of(const Pattern& p, Rank rank, const PlannedChunk& c) {
  for (const Access& a : p.of_rank[static_cast<std::size_t>(rank)])
    if (a.var == c.var && a.id == c.id) return a.bytes;
  return 0;
}

/// Plans on all ranks, some of which are late. Returns the common result.
std::vector<PlannedChunk> planned(const Pattern& p) {
  std::vector<std::vector<PlannedChunk>> of_rank(p.of_rank.size());
  run_as_threads(p.ranks(), [&](const Comm& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    if (comm.rank() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    of_rank[rank] = plan_at_homes(comm, p.of_rank[rank], p.cost());
  });
  for (const auto& chunks : of_rank) {
    EXPECT_EQ(chunks.size(), of_rank[0].size());
    for (std::size_t i = 0; i < std::min(chunks.size(), of_rank[0].size()); ++i) {
      EXPECT_EQ(chunks[i].var, of_rank[0][i].var);
      EXPECT_EQ(chunks[i].id, of_rank[0][i].id);
      EXPECT_EQ(chunks[i].bytes, of_rank[0][i].bytes);
      EXPECT_EQ(chunks[i].touched, of_rank[0][i].touched);
      EXPECT_EQ(chunks[i].local, of_rank[0][i].local);
      EXPECT_EQ(chunks[i].flags, of_rank[0][i].flags);
      EXPECT_EQ(chunks[i].owner, of_rank[0][i].owner);
      EXPECT_EQ(chunks[i].shared, of_rank[0][i].shared);
    }
  }
  return of_rank[0];
}

double busiest(const Pattern& p, std::span<const PlannedChunk> chunks) {
  std::vector<double> work(p.of_rank.size(), 0);
  for (const PlannedChunk& c : chunks)
    work[static_cast<std::size_t>(c.owner)] += p.costs.at({c.var, c.id}).work;
  return *std::max_element(work.begin(), work.end());
}

/// Each rank has at most twice the mean, which is a hundred chunks.
void expect_spread(int ranks, const std::function<Rank(int)>& home) {
  std::vector<int> chunks(static_cast<std::size_t>(ranks), 0);
  for (int i = 0; i < 100 * ranks; ++i) ++chunks[static_cast<std::size_t>(home(i))];
  EXPECT_LE(*std::max_element(chunks.begin(), chunks.end()), 200) << ranks << " ranks";
}

TEST(Homes, have_about_equally_many_chunks) {
  for (const int ranks : {2, 3, 6, 16, 23, 64, 1000}) {
    expect_spread(ranks, [&](int i) { return home_of(0, i, ranks); });
    expect_spread(ranks, [&](int i) { return home_of(5, Count{i} * ranks, ranks); });  // a column
    expect_spread(ranks, [&](int i) { return home_of(5, Count{i} << 24, ranks); });
    expect_spread(ranks, [&](int i) { return home_of(i, 0, ranks); });  // variables of one chunk
    expect_spread(ranks, [&](int i) { return home_of(i * ranks, 7, ranks); });
    expect_spread(ranks, [&](int i) { return home_of(i / 10, i % 10, ranks); });
  }
}

TEST(Homes, every_chunk_is_known_as_where_all_accesses_are) {
  for (const int ranks : all_sizes) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const Pattern p = random_pattern(ranks, seed);
      const auto chunks = planned(p);
      const Operation all = known_to_all(p);
      ASSERT_EQ(chunks.size(), all.chunks.size());
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        const PlannedChunk &c = chunks[i], &known = all.chunks[i];
        EXPECT_EQ(c.var, known.var);
        EXPECT_EQ(c.id, known.id);
        EXPECT_EQ(c.bytes, known.bytes);
        EXPECT_EQ(c.touched, known.touched);
        EXPECT_EQ(c.flags, known.flags);
        EXPECT_EQ(c.local, access_of(p, c.owner, c));
        EXPECT_EQ(c.shared, c.local < c.touched);
      }
    }
  }
}

TEST(Homes, no_rank_has_more_than_the_mean_and_one_chunk) {
  for (const int ranks : all_sizes) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const Pattern p = random_pattern(ranks, seed);
      EXPECT_LE(busiest(p, planned(p)), p.mean() + p.largest() + 1);
    }
  }
}

TEST(Homes, hardly_more_moves_than_where_all_accesses_are_known) {
  double here = 0, known = 0, touched = 0;
  for (const int ranks : {4, 7}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const Pattern p = random_pattern(ranks, seed);
      for (const PlannedChunk& c : planned(p)) {
        here += static_cast<double>(c.moved());
        touched += static_cast<double>(c.touched);
      }
      for (const PlannedChunk& c : known_to_all(p).chunks) known += static_cast<double>(c.moved());
    }
  }
  RecordProperty("moved", std::to_string(here / touched));
  RecordProperty("moved_where_all_is_known", std::to_string(known / touched));
  EXPECT_LE(here, known + 0.1 * touched) << here / touched << " and " << known / touched;
}

TEST(Homes, what_is_balanced_stays_where_it_is) {
  for (const int ranks : all_sizes) {
    const Pattern p = own_chunks(ranks);
    const auto chunks = planned(p);
    const Operation all = known_to_all(p);
    ASSERT_EQ(chunks.size(), all.chunks.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      EXPECT_EQ(chunks[i].owner, all.chunks[i].owner);
      EXPECT_EQ(chunks[i].owner, chunks[i].id / 4);
      EXPECT_FALSE(chunks[i].shared);
    }
  }
}

TEST(Homes, chunks_that_one_rank_has_alone_go_to_the_others_too) {
  for (const int ranks : all_sizes) {
    Pattern p(ranks);
    for (Count id = 0; id < 10 * ranks; ++id) {
      p.of_rank[static_cast<std::size_t>(ranks / 2)].push_back({0, 0, id, 100, covers_chunk});
      p.costs[{0, id}] = {100, 100};
    }
    EXPECT_EQ(busiest(p, planned(p)), 1000) << ranks;
  }
}

TEST(Homes, more_work_than_can_be_counted_is_spread_still) {
  constexpr int ranks = 4;
  Pattern p = own_chunks(ranks);
  for (auto& [chunk, cost] : p.costs) cost.work = 0x1p50;
  EXPECT_LE(busiest(p, planned(p)), 2 * p.mean());
}

TEST(Homes, nobody_touches_anything) {
  for (const int ranks : all_sizes) EXPECT_TRUE(planned(Pattern(ranks)).empty());
}

// A rank fails at its n-th call, as it would without memory: at its home, or when it has all
// chunks.
TEST(Homes, a_rank_that_fails_makes_all_fail) {
  constexpr int ranks = 4;
  const Pattern p = random_pattern(ranks, 1);
  for (Rank failing = 0; failing < ranks; ++failing) {
    std::size_t fails = 0;
    for (bool failed = true; failed; ++fails) {
      SCOPED_TRACE(testing::Message() << "rank " << failing << " after " << fails);
      std::vector<std::optional<Error>> errors(ranks);
      failed = false;
      run_as_threads(ranks, [&](const Comm& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        std::size_t asked = 0;
        const CostOf cost = [&](VarId var, Count id) {
          if (comm.rank() == failing && asked++ == fails) {
            failed = true;
            throw Error(Errc::enomem, "no memory");
          }
          return p.costs.at({var, id});
        };
        errors[rank] = attempt_together(comm, [&] { plan_at_homes(comm, p.of_rank[rank], cost); });
      });
      for (const auto& error : errors) {
        ASSERT_EQ(error.has_value(), failed);
        if (error) EXPECT_EQ(error->code(), Errc::enomem);
      }
    }
    EXPECT_GT(fails, p.costs.size());  // at least once for each chunk
  }
}

TEST(PlanRounds, are_the_same_where_each_rank_knows_its_own_accesses) {
  for (const int ranks : all_sizes) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, seed " << seed);
      const Pattern p = random_pattern(ranks, seed);
      Operation all = known_to_all(p);
      RoundLimits limits;
      limits.owned = limits.shared = 3000;
      limits.sent = 400 + 200 * (seed % 8);
      limits.owners_send = seed % 5 == 0;
      const auto rounds = plan_rounds(all.chunks, {all.accesses}, ranks, limits);
      run_as_threads(ranks, [&](const Comm& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        Operation own;
        adopt_chunks(own, all.chunks, p.of_rank[rank], comm.rank());
        for (PlannedChunk& c : own.chunks) c.round = 99;
        EXPECT_EQ(plan_rounds(own.chunks, {own.accesses, &comm}, ranks, limits), rounds);
        for (std::size_t i = 0; i < own.chunks.size(); ++i)
          EXPECT_EQ(own.chunks[i].round, all.chunks[i].round);
      });
    }
  }
}

// All ranks send equally much up to a chunk, and then only one rank sends.
TEST(PlanRounds, look_no_further_ahead_than_they_need) {
  constexpr int ranks = 8;
  constexpr std::uint32_t alike = 1600, all = 2000;
  Pattern p(ranks);
  Operation known;
  for (std::uint32_t id = 0; id < all; ++id) {
    PlannedChunk& c = known.chunks.emplace_back(PlannedChunk{0, id, 10, 10});
    c.owner = static_cast<Rank>(id % ranks);
    const auto sender = static_cast<Rank>(id < alike ? (id * 3 + 1) % ranks : 0);
    if (sender == c.owner) c.local = 10;
    known.accesses.push_back({id, sender, 10});
    p.of_rank[static_cast<std::size_t>(sender)].push_back({0, 0, id, 10, 0});
  }
  RoundLimits limits;
  limits.owned = limits.shared = 10 * all;
  limits.sent = 100;
  const auto rounds = plan_rounds(known.chunks, {known.accesses}, ranks, limits);
  EXPECT_GT(rounds, 50u);
  run_as_threads(ranks, [&](const Comm& comm) {
    Operation own;
    adopt_chunks(own, known.chunks, p.of_rank[static_cast<std::size_t>(comm.rank())], comm.rank());
    std::size_t visits = 0, meetings = 0;
    comm.before_meetings([&] { ++meetings; });
    EXPECT_EQ(plan_rounds(own.chunks, {own.accesses, &comm}, ranks, limits, &visits), rounds);
    comm.before_meetings({});
    for (std::size_t i = 0; i < own.chunks.size(); ++i)
      EXPECT_EQ(own.chunks[i].round, known.chunks[i].round);
    // One reduction in each round, and three more in the first.
    EXPECT_GT(meetings, rounds);
    EXPECT_LT(meetings, rounds + 8);
    EXPECT_LT(visits, 2 * all);
  });
}

}  // namespace homes_ranks_test
}  // namespace forebay::chunked
