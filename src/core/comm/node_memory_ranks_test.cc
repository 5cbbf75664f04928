#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "comm/node_memory.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"

namespace forebay {
namespace node_memory_ranks_test {

constexpr std::size_t slots = 512;  // of each rank

TEST(NodeMemory, a_rank_alone_has_its_own) {
  const NodeMemory memory = NodeMemory::create(Comm(), 100);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.size(), 100U);
  for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory.data()[i], std::byte{0});
  EXPECT_FALSE(NodeMemory());
}

// After the barrier, all ranks of a node see what one of them has written; no rank of another node
// does.
TEST(NodeMemory, is_that_of_the_node) {
  constexpr int rounds = 20;
  run_as_threads(7, [](const Comm& comm) {
    const Topology& topology = Topology::of(comm, 3);
    const Comm& node = topology.node();
    const auto n = static_cast<std::size_t>(node.size());
    const NodeMemory memory = NodeMemory::create(node, n * slots * sizeof(std::int64_t));
    ASSERT_TRUE(memory);
    auto* const values = reinterpret_cast<std::int64_t*>(memory.data());
    const auto own = static_cast<std::size_t>(node.rank()) * slots;
    for (std::size_t i = 0; i < slots; ++i) EXPECT_EQ(values[own + i], 0);
    topology.node().barrier();
    const auto value = [&](int round, std::size_t rank, std::size_t i) {
      const bool empty = rank == 2;  // the last rank of a whole node has nothing to write
      return empty ? 0
                   : (topology.my_node() + 1) * 1'000'000 + round * 10'000 +
                         static_cast<std::int64_t>(rank * 1000 + i);
    };
    for (int round = 1; round <= rounds; ++round) {
      if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      for (std::size_t i = 0; i < slots && node.rank() != 2; ++i)
        values[own + i] = value(round, static_cast<std::size_t>(node.rank()), i);
      topology.node().barrier();  // until here each rank writes its own part, and nobody looks
      int wrong = 0;
      for (std::size_t rank = 0; rank < n; ++rank)
        for (std::size_t i = 0; i < slots; ++i)
          wrong += values[rank * slots + i] != value(round, rank, i);
      EXPECT_EQ(wrong, 0) << "round " << round;
      topology.node().barrier();  // all have looked
    }
  });
}

}  // namespace node_memory_ranks_test
}  // namespace forebay
