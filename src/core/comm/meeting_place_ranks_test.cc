#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "comm/peers.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"
#include "comm/yield_or_sleep.h"

namespace forebay {
namespace meeting_place_ranks_test {

using namespace std::chrono_literals;

constexpr int ranks = 7;

// Each rank is late in turn, so that in each node the last to come is sometimes a leader.
void with_places(const std::function<void(const Comm&, int round)>& meet) {
  for (const int per_node : {0, 2, 3, 6}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      Topology::of(comm, per_node);
      ASSERT_NE(comm.backend()->place, nullptr) << per_node;
      for (int round = 0; round < 4 * ranks; ++round) {
        if (round % ranks == comm.rank()) std::this_thread::sleep_for(400us);
        meet(comm, round);
      }
    });
  }
}

// After a long yield, a waiting rank sleeps until it is woken, or not at all if that has happened
// already. A sleep of fixed length would give the core away each time.
TEST(MeetingPlace, those_who_wait_where_cores_are_wanted_are_woken) {
  run_as_threads(1, [](const Comm& comm) {
    constexpr int times = 100;
    Peers peers(comm);
    std::atomic<std::uint32_t> word = 1;
    const auto sleeps = [] {
      rusage use{};
      getrusage(RUSAGE_THREAD, &use);
      return use.ru_nvcsw;
    };
    crowded_turns = times;
    const auto before = sleeps();
    for (int i = 0; i < times; ++i) peers.rest(0, &word, 0);
    EXPECT_LT(sleeps() - before, times / 2);
    EXPECT_EQ(crowded_turns, 0);  // and then it tries yields again
  });
}

TEST(MeetingPlace, reduces_what_all_ranks_bring) {
  with_places([](const Comm& comm, int round) {
    const auto value = [&](Rank rank) { return std::int64_t{rank} * 1000 + round; };
    std::int64_t sum = 0;
    for (Rank rank = 0; rank < ranks; ++rank) sum += value(rank);
    EXPECT_EQ(comm.all_reduce(value(comm.rank()), Reduce::sum), sum);
    EXPECT_EQ(comm.all_reduce(value(comm.rank()), Reduce::min), value(0));
    std::array<std::int64_t, 3> mixed{value(comm.rank()), 1, comm.rank()};
    comm.max_and_sum(mixed, 1);
    EXPECT_EQ(mixed, (std::array<std::int64_t, 3>{value(ranks - 1), ranks, 21}));
  });
}

// As few values as one reduction carries, as many as the node's memory has room for, and more.
TEST(MeetingPlace, reduces_and_scans_any_number_of_values) {
  with_places([](const Comm& comm, int round) {
    if (round >= ranks) return;
    for (const std::size_t n : {22, 23, 3504, 3505}) {
      const auto of = [&](Rank rank) {
        std::vector<std::int64_t> values(n);
        for (std::size_t i = 0; i < n; ++i)
          values[i] =
              static_cast<std::int64_t>((i * 7919 + static_cast<std::size_t>(rank) * 31) % 1009) -
              round;
        return values;
      };
      for (const Reduce op : {Reduce::min, Reduce::max, Reduce::sum, Reduce::bit_or}) {
        std::vector<std::int64_t> values = of(comm.rank()), expected = of(0);
        for (Rank rank = 1; rank < ranks; ++rank) {
          const auto its = of(rank);
          for (std::size_t i = 0; i < n; ++i) expected[i] = reduced(expected[i], its[i], op);
        }
        comm.all_reduce(values, op);
        EXPECT_TRUE(values == expected) << n;
      }
      std::vector<std::int64_t> values = of(comm.rank()), totals(n), below(n), all(n);
      for (Rank rank = 0; rank < ranks; ++rank) {
        if (rank == comm.rank()) below = all;
        const auto its = of(rank);
        for (std::size_t i = 0; i < n; ++i) all[i] += its[i];
      }
      comm.exclusive_scan(values, totals);
      EXPECT_TRUE(values == below) << n;
      EXPECT_TRUE(totals == all) << n;
    }
  });
}

// There is room for all bytes, for the sizes alone, or for those of some ranks.
TEST(MeetingPlace, ranks_gather_whatever_each_has) {
  with_places([](const Comm& comm, int round) {
    if (round >= ranks) return;  // each has been late once, and has failed
    constexpr std::int64_t much = 200 << 10, room = 28032 - 8;
    const std::vector<std::vector<std::int64_t>> cases{
        std::vector<std::int64_t>(ranks, 0),
        std::vector<std::int64_t>(ranks, room),
        std::vector<std::int64_t>(ranks, room + 1),
        {0, 0, much, 0, 0, 0, 0},
        {1, 0, 600, 0, 0, 77, room},
        {much, much, 5, much, much, much, room + 8},
    };
    std::vector<std::int64_t> sizes;
    for (const auto& known : cases) {
      const auto of = [&](Rank rank) {
        return std::vector<std::byte>(
            static_cast<std::size_t>(known[static_cast<std::size_t>(rank)]),
            std::byte(round + 31 * rank));
      };
      std::vector<std::byte> expected;
      for (Rank rank = 0; rank < ranks; ++rank) {
        const auto its = of(rank);
        expected.insert(expected.end(), its.begin(), its.end());
      }
      const auto mine = of(comm.rank());
      EXPECT_TRUE(comm.all_gather_bytes(mine, sizes) == expected);
      EXPECT_EQ(sizes, known);
      EXPECT_TRUE(comm.all_gather_known(mine, sizes) == expected);
      const auto all = std::ssize(expected);
      EXPECT_EQ(comm.all_gather_up_to(all, mine, sizes).has_value(), true);
      EXPECT_EQ(comm.all_gather_up_to(all - 1, mine, sizes).has_value(), false);
      // A rank without memory affects the others by its error only.
      const bool fails = comm.rank() == round % ranks;
      const auto failed = up_to_meeting(comm, [&] {
        if (fails) throw Error(Errc::enomem);
        comm.all_gather_bytes(mine, sizes);
      });
      ASSERT_TRUE(failed.has_value());
      EXPECT_EQ(failed->code(), Errc::enomem);
      EXPECT_EQ(comm.all_gather(known[static_cast<std::size_t>(comm.rank())]), known);
    }
  });
}

// A late rank still reads what the others gathered before, while they come with the next values.
TEST(MeetingPlace, what_ranks_gather_stays_until_they_come_again) {
  with_places([](const Comm& comm, int round) {
    for (int time = 0; time < 5; ++time) {
      const auto of = [&](Rank rank) {
        return std::vector<std::byte>(static_cast<std::size_t>(10'000 + 1000 * rank),
                                      std::byte(round + 50 * (time % 4) + rank));
      };
      std::vector<std::byte> expected;
      std::vector<std::int64_t> known, sizes;
      for (Rank rank = 0; rank < ranks; ++rank) {
        const auto its = of(rank);
        expected.insert(expected.end(), its.begin(), its.end());
        known.push_back(std::ssize(its));
      }
      const auto mine = of(comm.rank());
      EXPECT_TRUE(comm.all_gather_bytes(mine, sizes) == expected);
      EXPECT_EQ(sizes, known);
      EXPECT_TRUE(comm.all_gather_known(mine, sizes) == expected);
      EXPECT_EQ(comm.all_gather(known[static_cast<std::size_t>(comm.rank())]), known);
    }
  });
}

TEST(MeetingPlace, nobody_leaves_before_all_have_come) {
  std::array<std::atomic<int>, ranks> come{};
  with_places([&](const Comm& comm, int round) {
    come[static_cast<std::size_t>(comm.rank())] = round + 1;
    comm.barrier();
    for (const auto& theirs : come) EXPECT_EQ(theirs, round + 1);
    comm.barrier();
  });
}

TEST(MeetingPlace, brings_the_error_of_one_rank_to_all) {
  with_places([](const Comm& comm, int round) {
    const bool fails = comm.rank() == (round + 3) % ranks;
    const auto failed = attempt_to([&] { comm.meet(fails ? Errc::eio : Errc::ok); });
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->code(), Errc::eio);
    comm.meet();  // the error does not come again
  });
}

TEST(MeetingPlace, ranks_of_a_node_meet_without_the_others) {
  run_as_threads(ranks, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 3);
    const int times = topology.my_node() == 0 ? 40 : 11;  // nodes differ in how often
    for (int time = 1; time <= times; ++time) {
      EXPECT_EQ(topology.node().all_reduce(time, Reduce::sum), time * topology.node().size());
    }
    EXPECT_EQ(comm.all_reduce(1, Reduce::sum), ranks);
  });
}

}  // namespace meeting_place_ranks_test
}  // namespace forebay
