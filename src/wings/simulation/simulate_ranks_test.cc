// Compares the simulation with the transport itself, with ranks that are threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "comm/thread_ranks.h"
#include "layout/canonical/canonical.h"
#include "simulation/simulate.h"
#include "simulation/workload_testing.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay::simulation {
namespace simulate_ranks_test {

constexpr int ranks = 5;
constexpr Count window = 4096, operations = 5;

// Windows grow with the third operation and keep their size for the last. The fourth is direct,
// except for a write in bulk.
std::vector<Run> select(Count operation, Rank rank) {
  std::vector<Run> runs;
  if (operation == 3) return {{rank * (Count{1} << 18), Count{1} << 18}};
  std::mt19937 random(static_cast<unsigned>(operation * ranks + rank));
  const Count most = 10 * window << (3 * (operation == 4 ? 1 : operation));
  for (Offset at = rank * 40; at < most; at += ranks * 40)
    if (random() % 7 != 0) runs.push_back({at, static_cast<Count>(4 + random() % 10 * 4)});
  return runs;
}

struct Case {
  int ranks_per_node;
  bool bulk;
};

class SimulateRanks : public testing::TestWithParam<Case> {};

TEST_P(SimulateRanks, messages_are_those_of_the_transport) {
  const std::string path = (std::filesystem::path(testing::TempDir()) /
                            ("forebay_simulate_" + std::to_string(::getpid())))
                               .string();
  std::ofstream(path).close();
  const TestWorkload workload(Count{1} << 20, operations, select);
  Machine machine;
  machine.ranks = ranks;
  machine.ranks_per_node = GetParam().ranks_per_node;
  machine.transport.buffer_limit = 8 << 20;
  machine.transport.ranks_per_node = machine.ranks_per_node;
  machine.transport.bulk = GetParam().bulk;
  std::array<std::int64_t, 2> written{}, read{};  // messages and their bytes
  run_as_threads(ranks, [&](const Comm& comm) {
    for (const bool write : {true, false}) {
      Report report;
      const auto transport =
          make_transport(comm, std::make_shared<File>(path, write, comm.rank(), report),
                         machine.transport, report);
      for (Count op = 0; op < operations; ++op) {
        std::vector<Request> requests;
        workload.add_requests(op, comm.rank(), requests);
        std::vector<std::byte> memory(Count{1} << 19);
        for (Request& r : requests) r.packed = memory.data();
        CanonicalStream stream(requests, workload.schema(), write);
        write ? transport->write_all(stream) : transport->read_all(stream);
      }
      transport->close();
      std::array<std::int64_t, 2> sums{report[Counter::messages], report[Counter::message_bytes]};
      comm.all_reduce(sums, Reduce::sum);
      if (comm.is_root()) (write ? written : read) = sums;
    }
  });
  std::filesystem::remove(path);
  Rates quick;  // as the folder of tests is fast
  quick.call_latency = 1e-6;
  for (const bool write : {true, false}) {
    machine.write = write;
    const PlanFacts f = simulate(workload, machine, quick);
    EXPECT_EQ(f.direct, GetParam().bulk ? 0 : 1);
    EXPECT_EQ(f.bulk, GetParam().bulk ? operations : 0);
    EXPECT_EQ(f.messages, (write ? written : read)[0]) << write;
    EXPECT_EQ(f.message_bytes, (write ? written : read)[1]) << write;
    EXPECT_GT(f.window, 64 << 10);  // that of the first operation
    EXPECT_EQ(f.messages > 15, machine.nodes() > 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, SimulateRanks,
                         testing::Values(Case{1, false}, Case{2, false}, Case{1, true},
                                         Case{2, true}, Case{5, true}),
                         [](const auto& each) {
                           return std::to_string(each.param.ranks_per_node) + "_a_node" +
                                  (each.param.bulk ? "_in_bulk" : "");
                         });

}  // namespace simulate_ranks_test
}  // namespace forebay::simulation
