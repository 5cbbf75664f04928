#include "transport/aggregation_rules.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace aggregation_rules_test {

// 16 ranks read 4 KiB each in a call, as IOR does.
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

TEST(AggregationRules, nodes_write_small_pieces_of_their_ranks_together) {
  constexpr int ranks = 16;
  const auto by_nodes = [](Count piece, const NodeCounts& nodes, bool write) {
    return nodes_write_apart({0, ranks * piece, ranks * piece, ranks}, nodes, write);
  };
  EXPECT_TRUE(by_nodes(4096, {ranks, 4}, true));
  EXPECT_FALSE(by_nodes(4096, {ranks, 4}, false));
  EXPECT_FALSE(by_nodes(4096, {ranks, ranks}, true));
  EXPECT_FALSE(by_nodes(4096, {ranks, 4, false}, true));
  EXPECT_FALSE(by_nodes(16 << 10, {ranks, 4}, true));
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
  EXPECT_EQ(of_nodes(3, 2, 0), (Callers{1, 1, 1}));  // windows are distributed to the first two
  EXPECT_EQ(of_nodes(3, 0, 1), (Callers{1, 1, 1}));
}

TEST(AggregationRules, windows_are_whole_stripes_where_there_is_room_for_one) {
  const NodeCounts nodes{16, 8};
  for (const Count limit_mib : {16, 64, 256})
    for (const Count stripe_mib : {1, 2, 4})
      for (const Count hint_mib : {0, 4, 16}) {
        TransportOptions options;
        options.buffer_limit = limit_mib << 20;
        options.striping_unit = stripe_mib << 20;
        options.window_size = hint_mib << 20;
        const OperationTotal total{0, Count{8} << 30, Count{8} << 30, 1'000'000};
        const Count window = window_size_for(total, nodes, options, 0);
        const RingSizes rings = ring_sizes(nodes, options, window);
        EXPECT_LE(window * rings.all(), options.buffer_limit / 2);
        if (12 * options.striping_unit > options.buffer_limit) continue;
        EXPECT_EQ(window % options.striping_unit, 0) << limit_mib << stripe_mib << hint_mib;
        if (limit_mib == 64 && window == 1 << 20) EXPECT_EQ(rings.away, most_away);
      }
}

TEST(AggregationRules, windows_that_ranks_of_a_node_read_alike_are_larger) {
  const Count bytes = Count{256} << 20;
  const OperationTotal total{0, bytes, bytes, bytes / 256};
  const auto window = [&](int nodes, Sharing sharing) {
    TransportOptions options;
    options.sharing = sharing;
    return window_size_for(total, {16, nodes}, options, 0);
  };
  EXPECT_EQ(window(1, Sharing::alike), 1 << 20);
  EXPECT_EQ(window(1, Sharing::unknown), 512 << 10);
  EXPECT_EQ(window(4, Sharing::alike), window(4, Sharing::unknown));
}

// Each window costs a message of every other node, so there are no more windows than nodes.
TEST(AggregationRules, a_node_has_one_window_of_a_small_operation) {
  const NodeCounts eight{16, 8};
  TransportOptions options;
  const auto windows = [&](Count bytes) {
    const OperationTotal total{0, bytes, bytes, bytes / 8};
    const Count size = window_size_for(total, eight, options, 0);
    if (options.striping_unit > 0) EXPECT_EQ(size % options.striping_unit, 0);
    return window_grid_for(total, eight, options, size).count;
  };
  for (const Count kib : {1024, 1400, 2048, 2560, 3000, 4096, 5120, 6144, 8192})
    EXPECT_TRUE(windows(kib << 10) <= 8 && windows(kib << 10) >= 5) << kib;
  options.striping_unit = 96 << 10;
  EXPECT_EQ(windows(8 * options.striping_unit), 8);
  EXPECT_GE(windows(9 * options.striping_unit), 5);
  EXPECT_GE(windows(20 * options.striping_unit), 5);
  EXPECT_GE(windows(33 * options.striping_unit), 5);
}

}  // namespace aggregation_rules_test
}  // namespace forebay
