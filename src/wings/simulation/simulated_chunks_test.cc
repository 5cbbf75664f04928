#include "simulation/simulated_chunks.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace forebay::simulation {
namespace chunks_test {

/// A row of 4-byte elements in chunks of 100; each rank has a box of it.
class Row : public Workload {
 public:
  struct Part {
    Count start, count;
  };
  Row(Count elements, std::vector<Part> parts) : parts_(std::move(parts)) {
    schema_.version = 5;
    schema_.add_dim({"x", elements});
    Variable var;
    var.name = "v";
    var.type = Type::int32;
    var.dimids = {0};
    var.chunking = Chunking{{100}, "deflate:6", {}};
    schema_.add_var(std::move(var));
  }
  const Schema& schema() const override { return schema_; }
  Count operations() const override { return 1; }
  void add_requests(Count, Rank rank, std::vector<Request>& requests) const override {
    const Part& part = parts_[static_cast<std::size_t>(rank)];
    Request& request = requests.emplace_back();
    request.element_size = 4;
    request.selection = Subarray{{part.start}, {part.count}, {}};
  }

 private:
  Schema schema_;
  std::vector<Part> parts_;
};

Machine four_ranks(bool write = true) {
  Machine machine;
  machine.ranks = 4;
  machine.ranks_per_node = 2;
  machine.write = write;
  return machine;
}

TEST(SimulateChunks, own_chunks_go_nowhere) {
  const Row row(800, {{0, 200}, {200, 200}, {400, 200}, {600, 200}});
  const ChunkPlanFacts f = simulate_chunks(row, four_ranks(), {});
  EXPECT_EQ(f.bytes, 3200);
  EXPECT_EQ(f.chunks, 8);
  EXPECT_EQ(f.accesses, 8);
  EXPECT_EQ(f.shared, 0);
  EXPECT_EQ(f.owners, 4);
  EXPECT_EQ(f.bytes_moved, 0);
  EXPECT_EQ(f.messages, 0);
  EXPECT_EQ(f.most_owned, 800);
  EXPECT_EQ(f.owned_by_node, (std::vector<Count>{1600, 1600}));
  EXPECT_DOUBLE_EQ(f.busiest, f.mean);
}

// Blocks of 190, 220, 190 and 200 elements. Of the chunks that two ranks touch, the rank with the
// smaller part sends 10, 10 and 0 elements: the first within its node, the second to the other
// node.
TEST(SimulateChunks, what_others_touch_goes_to_the_owner) {
  const std::vector<Row::Part> parts{{0, 190}, {190, 220}, {410, 190}, {600, 200}};
  const ChunkPlanFacts f = simulate_chunks(Row(800, parts), four_ranks(), {});
  EXPECT_EQ(f.accesses, 10);
  EXPECT_EQ(f.shared, 2);
  EXPECT_EQ(f.bytes_moved, 2 * 40);
  EXPECT_EQ(f.messages, 1);
  EXPECT_EQ(f.message_bytes, 40);
  EXPECT_EQ(f.out_degree, 1);
  EXPECT_EQ(f.in_degree, 1);
  const ChunkPlanFacts read = simulate_chunks(Row(800, parts), four_ranks(false), {});
  EXPECT_EQ(read.messages, 2);
  EXPECT_EQ(read.message_bytes, 40);
}

TEST(SimulateChunks, work_is_that_of_the_codec) {
  const Row row(800, {{0, 200}, {200, 200}, {400, 200}, {600, 200}});
  Rates rates;
  rates.deflate = 100;
  const ChunkPlanFacts f = simulate_chunks(row, four_ranks(), rates);
  EXPECT_DOUBLE_EQ(f.predicted.coding, 8);
  EXPECT_GE(f.predicted.total, 8);
}

TEST(SimulateChunks, refuses_what_cannot_be) {
  const Row row(800, {{0, 200}});
  Machine machine = four_ranks();
  machine.ranks = 0;
  EXPECT_THROW(simulate_chunks(row, machine, {}), Error);
  machine.ranks = 1;
  EXPECT_THROW(simulate_chunks(Row(Count{1} << 40, {{0, 200}}), machine, {}), Error);
}

}  // namespace chunks_test
}  // namespace forebay::simulation
