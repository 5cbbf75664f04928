#include "simulation/commands/workloads.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "layout/canonical/canonical.h"
#include "simulation/commands/e3sm_workload.h"
#include "simulation/simulate.h"

namespace forebay::tools {
namespace workloads_test {

constexpr int ranks = 4;

WorkloadChoice choice(const char* name) {
  WorkloadChoice c;
  c.name = name;
  return c;
}

/// Returns the bytes that all ranks request in all operations. Each byte must be requested once.
Count bytes_once(const simulation::Workload& workload, int of_ranks = ranks) {
  std::set<std::pair<Offset, Offset>> all;
  Count bytes = 0;
  for (Count op = 0; op < workload.operations(); ++op)
    for (Rank r = 0; r < of_ranks; ++r) {
      std::vector<Request> requests;
      workload.add_requests(op, r, requests);
      CanonicalStream stream(requests, workload.schema(), true);
      std::vector<Extent> some(64);
      while (const std::size_t n = stream.next(some))
        for (std::size_t i = 0; i < n; ++i) {
          all.emplace(some[i].offset, some[i].end());
          bytes += some[i].length;
        }
    }
  Offset end = 0;
  for (const auto& [from, to] : all) {
    EXPECT_GE(from, end);
    end = to;
  }
  return bytes;
}

TEST(PlanWorkloads, blocks_cover_their_variable_once) {
  WorkloadChoice c = choice("contiguous");
  for (const char* name :
       {"contiguous", "strided", "checkerboard", "ior-strided", "ior-contiguous"}) {
    c.name = name;
    c.size = 4096, c.piece = 128;
    for (const bool write : {true, false}) {
      const auto w = make_plan_workload(c, ranks, write, {});
      EXPECT_EQ(bytes_once(*w), ranks * 4096) << name << write;
      const bool one_call = c.name == "contiguous" || c.name == "strided";
      EXPECT_EQ(w->operations() == 1, one_call || (!write && c.name == "ior-strided")) << name;
    }
  }
  c = choice("btio");
  c.grid = "7", c.iterations = 5;
  const auto btio = make_plan_workload(c, ranks, true, {});
  EXPECT_EQ(btio->operations(), 5 * 2);
  EXPECT_EQ(bytes_once(*btio), 5 * 7 * 7 * 7 * 5 * 8);
}

TEST(PlanWorkloads, a_generated_f_case_covers_its_variables_once) {
  WorkloadChoice c = choice("e3sm");
  c.generate = "ne=1", c.records = 2, c.map_ranks = 3;
  const auto w = make_plan_workload(c, ranks, true, {});
  const Schema& schema = w->schema();
  Count expected = 0;
  for (const Variable& var : schema.vars) expected += var.inner_bytes() * (var.is_record ? 2 : 1);
  EXPECT_EQ(w->operations(), 1);
  EXPECT_GT(schema.vars.size(), 400U);
  EXPECT_EQ(bytes_once(*w), expected);
  EXPECT_GT(schema.begin_rec, schema.header_size);
}

// Ranks without elements must not cost a loop over all ranks each.
TEST(PlanWorkloads, a_generated_map_may_have_more_ranks_than_columns) {
  WorkloadChoice c = choice("e3sm");
  c.generate = "ne=1", c.map_ranks = 1 << 20;
  const auto w = make_plan_workload(c, 1 << 20, true, {});
  std::vector<Request> requests;
  w->add_requests(0, 100, requests);
  EXPECT_EQ(CanonicalStream(requests, w->schema(), true).summary().bytes, 0);
}

TEST(PlanWorkloads, checkerboards_are_chunked) {
  WorkloadChoice c = choice("checkerboard2d");
  c.total = 64 << 10, c.chunk = 4 << 10, c.grid = "d5";
  Method method;
  method.codec = "zstd:1";
  const auto w = make_plan_workload(c, ranks, true, method);
  const Variable& var = w->schema().vars.front();
  ASSERT_TRUE(var.chunking);
  EXPECT_EQ(var.chunking->shape, (std::vector<Count>{128, 128}));
  EXPECT_EQ(var.chunking->codec, "zstd:1");
}

TEST(PlanWorkloads, what_cannot_be_is_refused) {
  const auto refused = [](const char* name, int of_ranks, auto&& change) {
    WorkloadChoice c = choice(name);
    change(c);
    try {
      make_plan_workload(c, of_ranks, true, {});
    } catch (const Error& e) {
      return e.code() == Errc::einval;
    }
    return false;
  };
  const auto as_it_is = [](WorkloadChoice&) {};
  EXPECT_TRUE(refused("none", 4, as_it_is));
  EXPECT_TRUE(refused("strided", 0, as_it_is));
  EXPECT_TRUE(refused("strided", 4, [](auto& c) { c.size = 0; }));
  EXPECT_TRUE(refused("strided", 1 << 20, [](auto& c) { c.size = Count{1} << 50; }));
  EXPECT_TRUE(refused("btio", 4, [](auto& c) { c.grid = "shared"; }));
  EXPECT_TRUE(refused("btio", 4, [](auto& c) { c.grid = "40000"; }));
  EXPECT_TRUE(refused("btio", 4, [](auto& c) { c.iterations = 0; }));
  EXPECT_TRUE(refused("e3sm", 4, [](auto& c) { c.generate = "ne=x"; }));
  EXPECT_TRUE(refused("e3sm", 4, [](auto& c) { c.generate = "ne=1", c.records = -1; }));
  EXPECT_TRUE(refused("e3sm", 4, [](auto& c) { c.generate = "ne=1", c.records = 10'000; }));
  EXPECT_TRUE(refused("e3sm", 4, [](auto& c) { c.generate = "ne=30", c.tiles = 1000; }));
  EXPECT_TRUE(refused("checkerboard2d", 4, [](auto& c) { c.total = 4; }));
  EXPECT_TRUE(refused("checkerboard2d", 4, [](auto& c) { c.grid = "7"; }));
  EXPECT_FALSE(refused("strided", 4, as_it_is));
}

}  // namespace workloads_test
}  // namespace forebay::tools
