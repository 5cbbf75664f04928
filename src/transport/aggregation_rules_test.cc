#include "transport/aggregation_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

// 16 ranks read 4 KiB each, as IOR does call by call.
TEST(AggregationRules, few_pieces_of_one_node_are_read_by_those_who_want_them) {
  constexpr int ranks = 16;
  constexpr Count piece = 4096;
  const OperationTotal few{0, ranks * piece, ranks * piece, ranks};
  const OperationTotal many{0, 9 * ranks * piece, 9 * ranks * piece, 9 * ranks};
  const NodeCounts one_node{ranks, 1}, nodes{ranks, 4};
  const TransportOptions options;
  EXPECT_TRUE(carried_out_directly(few, one_node, options, false));
  EXPECT_FALSE(carried_out_directly(many, one_node, options, false));
  EXPECT_FALSE(carried_out_directly(few, nodes, options, false));
  EXPECT_FALSE(carried_out_directly(few, one_node, options, true));
  TransportOptions slow;
  slow.bulk = true;
  EXPECT_FALSE(carried_out_directly(few, one_node, slow, false));
}

TEST(AggregationRules, so_many_processes_of_each_node_make_calls_at_a_time) {
  const auto of_nodes = [](int nodes, int all, int each) {
    TransportOptions options;
    options.aggregators = all;
    options.aggregators_of_node = each;
    std::vector<int> callers;
    for (int node = 0; node < nodes; ++node)
      callers.push_back(callers_of_node({4 * nodes, nodes}, options, node));
    return callers;
  };
  using Callers = std::vector<int>;
  EXPECT_EQ(of_nodes(3, 0, 0), (Callers{0, 0, 0}));
  EXPECT_EQ(of_nodes(3, 7, 0), (Callers{3, 2, 2}));
  EXPECT_EQ(of_nodes(3, 7, 2), (Callers{2, 2, 2}));
  EXPECT_EQ(of_nodes(3, 2, 0), (Callers{1, 1, 1}));  // windows are dealt to the first two
  EXPECT_EQ(of_nodes(3, 0, 1), (Callers{1, 1, 1}));
}

}  // namespace
}  // namespace forebay
