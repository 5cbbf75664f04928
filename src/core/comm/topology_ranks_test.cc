#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"

namespace forebay {
namespace topology_ranks_test {

std::vector<Rank> list(std::span<const Rank> ranks) { return {ranks.begin(), ranks.end()}; }

TEST(Topology, a_rank_alone_is_one_node) {
  const Topology& topology = Topology::of(Comm(), 3);
  EXPECT_EQ(topology.nodes(), 1);
  EXPECT_EQ(topology.largest_node(), 1);
  EXPECT_EQ(topology.leader(), 0);
  EXPECT_EQ(list(topology.ranks_of(0)), std::vector<Rank>{0});
  topology.node().barrier();
}

TEST(Topology, all_ranks_of_one_node) {
  run_as_threads(5, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 0);
    EXPECT_EQ(topology.nodes(), 1);
    EXPECT_EQ(topology.largest_node(), 5);
    EXPECT_EQ(topology.node().rank(), comm.rank());
    EXPECT_EQ(list(topology.ranks_of(0)), (std::vector<Rank>{0, 1, 2, 3, 4}));
  });
}

TEST(Topology, uneven_nodes) {
  run_as_threads(7, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 3);
    ASSERT_EQ(topology.nodes(), 3);
    EXPECT_EQ(topology.largest_node(), 3);
    EXPECT_EQ(list(topology.ranks_of(0)), (std::vector<Rank>{0, 1, 2}));
    EXPECT_EQ(list(topology.ranks_of(1)), (std::vector<Rank>{3, 4, 5}));
    EXPECT_EQ(list(topology.ranks_of(2)), (std::vector<Rank>{6}));
    for (Rank rank = 0; rank < 7; ++rank) EXPECT_EQ(topology.node_of(rank), rank / 3);
    EXPECT_EQ(topology.my_node(), comm.rank() / 3);
    EXPECT_EQ(topology.leader(), comm.rank() / 3 * 3);
    EXPECT_EQ(topology.node().size(), comm.rank() == 6 ? 1 : 3);
    EXPECT_EQ(topology.node().rank(), comm.rank() % 3);
  });
}

TEST(Topology, ranks_that_are_nodes_of_their_own) {
  run_as_threads(3, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 1);
    EXPECT_EQ(topology.nodes(), 3);
    EXPECT_EQ(topology.largest_node(), 1);
    EXPECT_EQ(topology.leader(), comm.rank());
    EXPECT_EQ(topology.node().size(), 1);
  });
}

// The last rank is a node of its own and does not reduce: a text for its reduction would stay.
TEST(Topology, sums_tell_of_an_error_and_leave_nothing_to_tell) {
  run_as_threads(3, [](const Comm& comm) {
    Topology::of(comm, 0);  // has the place of all reductions
    const Topology& topology = Topology::of(comm, 2);
    std::array<std::int64_t, 1> values{1}, of_node{};
    const bool fails = comm.rank() == 2;
    if (fails) tell_at_meeting(comm, Error(Errc::ewrite, "no room"));
    const auto failed = attempt_to([&] {
      topology.sum_by_nodes(
          comm, values, of_node, [](std::span<std::int64_t>) {}, fails ? Errc::ewrite : Errc::ok);
    });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::ewrite);
    EXPECT_NE(failed->message().find("no room"), std::string::npos) << failed->message();
    EXPECT_FALSE(topology.node().backend()->to_tell);
  });
}

TEST(Topology, asking_again_is_local) {
  run_as_threads(4, [](const Comm& comm) {
    const Topology& two = Topology::of(comm, 2);
    EXPECT_NE(&two, &Topology::of(comm, 4));
    if (comm.is_root()) EXPECT_EQ(&two, &Topology::of(Comm(comm), 2));  // the others take no part
  });
}

// All ranks keep the place of the first one-node topology. Others may be added behind it.
TEST(Topology, a_thread_begins_a_file_while_another_one_uses_its_own) {
  run_as_threads(4, [](const Comm& comm) {
    const auto kept = comm.backend()->kept_topologies;
    std::atomic<bool> over = false;
    std::atomic<const MeetingPlace*> first = nullptr;
    std::atomic<int> places = 0;
    std::thread other([&] {
      while (!over) {
        const MeetingPlace* const found = Topology::between_files(*kept);
        if (first.exchange(found) != found) ++places;
        std::this_thread::yield();
      }
    });
    const auto failed = attempt_to([&] {
      for (const int ranks_per_node : {2, 3}) Topology::of(comm, ranks_per_node);
      EXPECT_EQ(Topology::between_files(*kept), nullptr);
      for (int ranks_per_node = 4; ranks_per_node < 12; ++ranks_per_node)
        Topology::of(comm, ranks_per_node);
      while (first == nullptr) std::this_thread::yield();
    });
    over = true;
    other.join();
    EXPECT_FALSE(failed);
    EXPECT_EQ(places, 1);
  });
}

TEST(Topology, a_little_memory_is_kept_for_the_next_user) {
  run_as_threads(4, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 2);
    NodeMemory first = topology.take_memory(10'000);
    NodeMemory second = topology.take_memory(9'000);
    const auto *one = first.data(), *two = second.data();
    EXPECT_NE(one, two);
    topology.give_back(std::move(first));
    topology.give_back(std::move(second));  // the larger one stays
    first = topology.take_memory(8'000);
    EXPECT_EQ(first.data(), one);
    EXPECT_EQ(first.size(), 10'000U);
    topology.give_back(std::move(first));
    second = topology.take_memory(11'000);
    EXPECT_EQ(second.size(), 11'000U);
    topology.give_back(std::move(second));
    first = topology.take_memory(Topology::most_kept + 1);
    topology.give_back(std::move(first));
    EXPECT_EQ(topology.take_memory(5'000).size(), 5'000U);
  });
}

TEST(Topology, memory_that_a_rank_has_no_use_for_none_of_its_node_has) {
  run_as_threads(4, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 2);
    NodeMemory memory = topology.take_memory(10'000);
    const auto* data = memory.data();
    topology.give_back(std::move(memory));
    memory = topology.take_memory(9'000, comm.rank() != 3);
    EXPECT_EQ(static_cast<bool>(memory), comm.rank() < 2);
    if (memory) topology.give_back(std::move(memory));
    memory = topology.take_memory(10'000);  // what is spare stays
    EXPECT_EQ(memory.data(), data);
  });
}

// Ranks give back different ones of two equally large memories: neither may be used again.
TEST(Topology, ranks_never_have_different_memory) {
  run_as_threads(4, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 2);
    for (int time = 0; time < 6; ++time) {
      NodeMemory first = topology.take_memory(8'000), second = topology.take_memory(8'000);
      const bool swaps = comm.rank() % 2 == 1;
      topology.give_back(std::move(swaps ? first : second));
      topology.give_back(std::move(swaps ? second : first));
      NodeMemory mine = topology.take_memory(8'000);
      auto& word = *reinterpret_cast<std::atomic<int>*>(mine.data());
      if (comm.rank() % 2 == 0) word = time;
      topology.node().barrier();
      EXPECT_EQ(word, time);
      topology.node().barrier();
    }
  });
}

// No rank passes a barrier before all of its node have come to it, time after time.
TEST(Topology, barrier_is_of_a_node) {
  std::array<std::atomic<int>, 3> come{};
  run_as_threads(7, [&](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 3);
    auto& mine = come[static_cast<std::size_t>(topology.my_node())];
    for (int time = 1; time <= 50; ++time) {
      ++mine;
      topology.node().barrier();
      EXPECT_EQ(mine, time * topology.node().size());
      topology.node().barrier();
    }
  });
}

}  // namespace topology_ranks_test
}  // namespace forebay
