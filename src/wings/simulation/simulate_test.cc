#include "simulation/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "simulation/workload_testing.h"
#include "transport/aggregation_rules.h"
#include "transport/direct_io.h"
#include "transport/window_message.h"

namespace forebay::simulation {
namespace simulate_test {

constexpr Count window = 4096, windows = 6;
using RunsOfRank = std::vector<Run>;  // inside a test, Run() is a function of GoogleTest

// Windows of 4 KiB, and nodes of two ranks.
Machine small_machine(int ranks, bool write) {
  Machine m;
  m.ranks = ranks;
  m.ranks_per_node = 2;
  m.write = write;
  m.transport.window_size = window;
  m.transport.buffer_limit = 64 << 10;
  return m;
}

// Elements of four ranks, interleaved over six windows: each node has 8 bytes of every 16.
RunsOfRank in_turn(Count, Rank rank) {
  RunsOfRank runs;
  for (Offset at = rank * 4; at < windows * window; at += 16) runs.push_back({at, 4});
  return runs;
}

TEST(Simulate, counts_one_message_for_a_window_and_another_node) {
  const TestWorkload workload(windows * window / 4, 1, in_turn);
  const PlanFacts f = simulate(workload, small_machine(4, true), {});
  EXPECT_EQ(f.operations, 1);
  EXPECT_EQ(f.direct, 0);
  EXPECT_EQ(f.pieces, windows * window / 4);
  EXPECT_EQ(f.bytes, windows * window);
  EXPECT_EQ(f.window, window);
  EXPECT_EQ(f.windows, windows);
  // 511 units of 8 bytes from the first to the last need 64 bytes of bits.
  const Count message = 24 + 64 + window / 2;
  EXPECT_EQ(f.messages, windows);
  EXPECT_EQ(f.message_bytes, windows * message);
  EXPECT_EQ(f.out_degree, 1);
  EXPECT_EQ(f.in_degree, 1);
  for (const NodeFacts& n : f.nodes) {
    EXPECT_EQ(n.messages_out, 3);
    EXPECT_EQ(n.messages_in, 3);
    EXPECT_EQ(n.bytes_out, 3 * message);
    EXPECT_EQ(n.windows, 3);
    EXPECT_EQ(n.stored, 3 * window);
    EXPECT_EQ(n.copied, windows * window / 2 + 6 * message);
  }
  EXPECT_FALSE(f.hand_overs);
}

TEST(Simulate, counts_wishes_and_answers_of_a_read) {
  const TestWorkload workload(windows * window / 4, 1, in_turn);
  const PlanFacts f = simulate(workload, small_machine(4, false), {});
  EXPECT_EQ(f.messages, 2 * windows);
  EXPECT_EQ(f.message_bytes, windows * (24 + 64) + windows * (24 + window / 2));
  EXPECT_EQ(f.out_degree, 1);
}

TEST(Simulate, one_node_sends_nothing) {
  Machine machine = small_machine(4, true);
  machine.ranks_per_node = 4;
  const PlanFacts f = simulate(TestWorkload(windows * window / 4, 1, in_turn), machine, {});
  EXPECT_EQ(f.messages, 0);
  EXPECT_EQ(f.windows, windows);
  EXPECT_EQ(f.memory.mailbox, 0);
}

TEST(Simulate, fewer_aggregators_have_all_the_windows) {
  Machine machine = small_machine(4, true);
  machine.transport.aggregators = 1;
  const PlanFacts f = simulate(TestWorkload(windows * window / 4, 1, in_turn), machine, {});
  EXPECT_EQ(f.nodes[0].windows, windows);
  EXPECT_EQ(f.nodes[1].windows, 0);
  EXPECT_EQ(f.nodes[1].messages_out, windows);
}

// The memory for windows is less than a stripe: two windows share one.
TEST(Simulate, windows_smaller_than_a_stripe_hand_it_over) {
  Machine machine = small_machine(4, true);
  machine.transport.striping_unit = 2 * window;
  const TestWorkload workload(windows * window / 4, 1, in_turn);
  EXPECT_EQ(simulate(workload, machine, {}).hand_overs, windows / 2);
  machine.transport.buffer_limit *= 2;  // now the window is as large as a stripe
  EXPECT_EQ(simulate(workload, machine, {}).hand_overs, 0);
}

// With windows of 16 KiB and stripes of 12 KiB, the second stripe belongs to two windows.
TEST(Simulate, a_stripe_is_handed_over_by_who_writes_there) {
  Machine machine = small_machine(4, true);
  machine.transport.window_size = 4 * 4096;
  machine.transport.striping_unit = 3 * 4096;
  machine.transport.buffer_limit = 1 << 20;
  const auto hand_overs = [&](Offset first, Offset second) {
    const TestWorkload workload(1 << 20, 1, [&](Count, Rank r) {
      return r > 1 ? RunsOfRank{} : RunsOfRank{{r == 0 ? first : second, 4}};
    });
    const PlanFacts f = simulate(workload, machine, {});
    EXPECT_EQ(f.window, 4 * 4096);
    return f.hand_overs;
  };
  EXPECT_EQ(hand_overs(3 * 4096, 4 * 4096), 1);
  EXPECT_EQ(hand_overs(0, 4 * 4096), 0);
  EXPECT_EQ(hand_overs(3 * 4096, 6 * 4096), 0);
}

/// For a fast store.
Rates quick_rates() {
  Rates rates;
  rates.call_latency = 99e-6;
  return rates;
}

// Each rank has four pieces, each worth a system call unless calls are slow.
TEST(Simulate, a_slow_file_is_known_from_its_header) {
  constexpr Count each = 300'000, of_rank = 4, operations = 3;
  const TestWorkload workload(of_rank * each * 4, operations, [](Count, Rank r) {
    RunsOfRank runs;
    for (Count i = 0; i < of_rank; ++i) runs.push_back({(i * 4 + r) * each, each});
    return runs;
  });
  for (const bool write : {true, false}) {
    Rates rates;
    rates.call_latency = 100e-6;
    const PlanFacts slow = simulate(workload, small_machine(4, write), rates),
                    quick = simulate(workload, small_machine(4, write), quick_rates());
    EXPECT_EQ(slow.direct, 0);
    EXPECT_EQ(slow.bulk, operations);
    EXPECT_GT(slow.messages, 0);
    EXPECT_EQ(quick.direct, operations);
    EXPECT_EQ(quick.bulk, 0);
  }
}

TEST(Simulate, memory_of_reads_and_of_direct_operations_is_told) {
  const TestWorkload workload(windows * window / 4, 1, in_turn);
  Machine machine = small_machine(4, false);
  const PlanFacts read = simulate(workload, machine, {});
  EXPECT_EQ(read.memory.wishes, mailbox_limit(machine.transport) + 2 * (24 + 64));
  EXPECT_EQ(read.memory.direct, 0);
  machine.write = true;
  EXPECT_EQ(simulate(workload, machine, {}).memory.wishes, 0);
  constexpr Count each = 300'000;
  const TestWorkload large(each, 1, [](Count, Rank r) { return RunsOfRank{{r * each, each}}; });
  const PlanFacts direct = simulate(large, machine, quick_rates());
  EXPECT_EQ(direct.memory.direct, direct_memory(true));
  EXPECT_EQ(direct.memory.slots, 0);
  EXPECT_GT(direct.memory.all(), direct_buffer);
  // If calls are slow, buffers are larger, but never larger than a rank may hold.
  constexpr Count more = 5 << 20;
  const TestWorkload larger(more, 1, [](Count, Rank r) { return RunsOfRank{{r * more, more}}; });
  Rates slow = quick_rates();
  slow.call_latency = 1e-3;
  machine.transport.buffer_limit = 4 << 20;
  EXPECT_EQ(simulate(larger, machine, slow).memory.direct, 4 << 20);
}

// 300,000 bytes a rank: those of the second node begin inside a stripe.
TEST(Simulate, large_pieces_are_written_directly) {
  constexpr Count each = 300'000;
  const TestWorkload workload(each, 1, [](Count, Rank r) { return RunsOfRank{{r * each, each}}; });
  Machine machine = small_machine(4, true);
  machine.transport.striping_unit = 64 << 10;
  const PlanFacts f = simulate(workload, machine, quick_rates());
  EXPECT_EQ(f.direct, 1);
  EXPECT_EQ(f.messages, 0);
  EXPECT_EQ(f.window, 0);
  EXPECT_EQ(f.hand_overs, 1);
  EXPECT_EQ(f.nodes[1].stored, 2 * each);
  machine.transport.kind = "aggregated";
  EXPECT_GT(simulate(workload, machine, {}).messages, 0);
}

/// Counts, byte by byte, what three nodes with random pieces have in each window.
TEST(Simulate, messages_are_of_what_the_ranks_of_a_node_have_together) {
  constexpr int ranks = 5;
  constexpr Count bytes = 10 * window;
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<RunsOfRank> runs(ranks);
    for (auto& list : runs)
      for (Offset at = random() % 90 * 4; at < bytes; at += 4 + random() % 700 * 4) {
        const Count length = std::min<Count>(4 + random() % 300 * 4, bytes - at);
        list.push_back({at, length});
        at += length;
      }
    const bool write = round % 2 == 0;
    Count messages = 0, message_bytes = 0;
    for (int node = 0; node < 3; ++node) {
      std::map<Count, std::set<Count>> had;  // by window
      for (int r = 2 * node; r < std::min(2 * node + 2, ranks); ++r)
        for (const auto& run : runs[static_cast<std::size_t>(r)])
          for (Offset b = run.offset; b < run.offset + run.length; ++b)
            had[b / window].insert(b % window);
      for (const auto& [w, places] : had) {
        if (w % 3 == node) continue;
        std::vector<WindowRun> list;
        for (const Count b : places) {
          const auto at = static_cast<std::uint32_t>(b);
          if (list.empty() || list.back().to != at) list.push_back({at, at});
          list.back().to = at + 1;
        }
        const auto size = static_cast<Count>(places.size());
        messages += write ? 1 : 2;
        message_bytes +=
            static_cast<Count>(window_message(w, list, size).size()) + (write ? 0 : 24);
      }
    }
    const TestWorkload workload(bytes / 4, 1,
                                [&](Count, Rank r) { return runs[static_cast<std::size_t>(r)]; });
    Machine machine = small_machine(ranks, write);
    const PlanFacts f = simulate(workload, machine, {});
    EXPECT_EQ(f.messages, messages) << round;
    EXPECT_EQ(f.message_bytes, message_bytes) << round;
    EXPECT_GE(f.windows, 8);
  }
}

TEST(Simulate, an_operation_without_pieces_counts_for_nothing) {
  const TestWorkload workload(100, 3, [](Count op, Rank r) {
    return op == 1 && r == 2 ? RunsOfRank{{8, 4}} : RunsOfRank{};
  });
  const PlanFacts f = simulate(workload, small_machine(4, true), {});
  EXPECT_EQ(f.operations, 1);
  EXPECT_EQ(f.bytes, 4);
}

TEST(Simulate, refuses_what_cannot_be) {
  const TestWorkload workload(100, 1, in_turn);
  const auto refused = [&](auto&& change) {
    Machine m = small_machine(4, true);
    change(m);
    try {
      simulate(workload, m, {});
    } catch (const Error& e) {
      return e.code() == Errc::einval;
    }
    return false;
  };
  EXPECT_TRUE(refused([](Machine& m) { m.ranks = 0; }));
  EXPECT_TRUE(refused([](Machine& m) { m.ranks_per_node = 0; }));
  EXPECT_TRUE(refused([](Machine& m) { m.ranks_per_node = 1025; }));
  EXPECT_TRUE(refused([](Machine& m) { m.ranks_per_node = 1024, m.ranks = (1 << 24) + 1; }));
  EXPECT_TRUE(refused([](Machine& m) { m.ranks_per_node = 1, m.ranks = (1 << 20) + 1; }));
  EXPECT_TRUE(refused([](Machine& m) { m.transport.striping_unit = 1000; }));
  EXPECT_TRUE(refused([](Machine& m) { m.transport.striping_unit = (Count{1} << 30) + 4096; }));
  EXPECT_TRUE(refused([](Machine& m) { m.transport.kind = "posix"; }));
  EXPECT_TRUE(refused([](Machine& m) { m.transport.buffer_limit = 1; }));
  EXPECT_FALSE(refused([](Machine&) {}));
}

TEST(Simulate, refuses_rates_that_are_none) {
  const TestWorkload workload(windows * window / 4, 1, in_turn);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double none : {0.0, -1.0, infinite, std::nan(""), 1e-300, 1e300}) {
    Rates rates;
    rates.writer = none;
    EXPECT_THROW(simulate(workload, small_machine(4, true), rates), Error) << none;
  }
}

// 32 MiB a rank.
TEST(Simulate, refuses_requests_of_a_node_that_memory_has_no_room_for) {
  class Large : public TestWorkload {
   public:
    using TestWorkload::TestWorkload;
    void add_requests(Count op, Rank rank, std::vector<Request>& requests) const override {
      if (!list_) {
        TestWorkload::add_requests(op, rank, requests);
        list_ = std::get<Runs>(requests.back().selection).list;
        return;
      }
      requests.emplace_back().selection = Runs{list_};
    }

   private:
    mutable std::shared_ptr<const RunList> list_;
  };
  const Large workload(Count{1} << 22, 1, [](Count, Rank) {
    RunsOfRank runs;
    for (Count i = 0; i < Count{1} << 21; ++i) runs.push_back({i * 8, 4});
    return runs;
  });
  Machine machine = small_machine(64, true);
  machine.ranks_per_node = 64;
  try {
    simulate(workload, machine, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::einval);
  }
}

TEST(Simulate, more_windows_than_can_be_kept_are_refused) {
  const TestWorkload workload(Count{1} << 42, 1, [](Count, Rank) {
    return RunsOfRank{{0, 4}, {(Count{1} << 44) - 4, 4}};
  });
  EXPECT_THROW(simulate(workload, small_machine(4, true), {}), Error);
}

TEST(Prediction, an_operation_takes_as_long_as_what_takes_longest) {
  Rates rates;
  rates.network = 100, rates.message_latency = 1, rates.copy = 50, rates.storage = 1000;
  rates.writer = 10, rates.call_latency = 2, rates.piece = 0.5;
  Prediction p;
  Busiest b;
  b.node_bytes = 400, b.node_messages = 3, b.node_copied = 100, b.node_stored = 20;
  b.node_calls = 5, b.calls_at_once = 2, b.bytes = 2000, b.rank_pieces = 6;
  p.add(b, rates);
  EXPECT_DOUBLE_EQ(p.network, 7);
  EXPECT_DOUBLE_EQ(p.copy, 2);
  EXPECT_DOUBLE_EQ(p.storage, 8);  // 2 for the bytes, and 6 for three rounds of calls
  EXPECT_DOUBLE_EQ(p.planning, 3);
  EXPECT_DOUBLE_EQ(p.total, 8);
  b.bytes = 9000;
  p.add(b, rates);
  EXPECT_DOUBLE_EQ(p.storage, 17);
  EXPECT_DOUBLE_EQ(p.total, 17);
}

}  // namespace simulate_test
}  // namespace forebay::simulation
