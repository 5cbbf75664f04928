// The simulation counts what the transport does, with ranks that are threads.
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
#include "transport/transport.h"

namespace forebay::simulation {
namespace {

constexpr int ranks = 5;
constexpr Count window = 4096, operations = 5;

// Windows grow with the third operation and stay so for the last; the fourth is carried out
// directly.
std::vector<Run> select(Count operation, Rank rank) {
  std::vector<Run> runs;
  if (operation == 3) return {{rank * (Count{1} << 18), Count{1} << 18}};
  std::mt19937 random(static_cast<unsigned>(operation * ranks + rank));
  const Count most = 3 * window << (3 * (operation == 4 ? 1 : operation));
  for (Offset at = rank * 40; at < most; at += ranks * 40)
    if (random() % 7 != 0) runs.push_back({at, static_cast<Count>(4 + random() % 10 * 4)});
  return runs;
}

class SimulateRanks : public testing::TestWithParam<int> {};

TEST_P(SimulateRanks, messages_are_those_of_the_transport) {
  const std::string path = (std::filesystem::path(testing::TempDir()) /
                            ("forebay_simulate_" + std::to_string(::getpid())))
                               .string();
  std::ofstream(path).close();
  const TestWorkload workload(Count{1} << 20, operations, select);
  Machine machine;
  machine.ranks = ranks;
  machine.ranks_per_node = GetParam();
  machine.transport.buffer_limit = 8 << 20;
  machine.transport.ranks_per_node = machine.ranks_per_node;
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
  for (const bool write : {true, false}) {
    machine.write = write;
    const PlanFacts f = simulate(workload, machine, {});
    EXPECT_EQ(f.direct, 1);
    EXPECT_EQ(f.messages, (write ? written : read)[0]) << write;
    EXPECT_EQ(f.message_bytes, (write ? written : read)[1]) << write;
    EXPECT_EQ(f.window, 128 << 10);
    EXPECT_GT(f.messages, 15);
  }
}

INSTANTIATE_TEST_SUITE_P(, SimulateRanks, testing::Values(1, 2));

}  // namespace
}  // namespace forebay::simulation
