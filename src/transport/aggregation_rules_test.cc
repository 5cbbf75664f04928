#include "transport/aggregation_rules.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace forebay
