#include "checkpoints/plan/parity_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace forebay::checkpoint {
namespace parity_sets_test {

TEST(ParitySets, no_set_has_two_ranks_of_a_node) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const int most = 2 + static_cast<int>(random() % 7);
    std::vector<std::int64_t> node_of;
    std::map<std::int64_t, std::size_t> on_node;
    const std::size_t ranks = 1 + random() % 60, nodes = 1 + random() % 12;
    for (std::size_t r = 0; r < ranks; ++r) {
      node_of.push_back(static_cast<std::int64_t>(random() % nodes));
      ++on_node[node_of.back()];
    }
    std::size_t largest = 0;
    for (const auto& [node, its] : on_node) largest = std::max(largest, its);
    const std::vector<int> set_of = parity_sets(node_of, most);
    if (set_of.empty()) {
      // A division in pairs, or one more in a set, must be impossible.
      EXPECT_TRUE(ranks < 2 || largest > ranks / 2) << ranks << " ranks, largest " << largest;
      continue;
    }
    std::map<int, std::set<std::int64_t>> nodes_of_set;
    std::map<int, int> size;
    for (std::size_t r = 0; r < ranks; ++r) {
      EXPECT_TRUE(nodes_of_set[set_of[r]].insert(node_of[r]).second);
      ++size[set_of[r]];
    }
    for (const auto& [set, n] : size) {
      EXPECT_GE(n, 2);
      EXPECT_LE(n, most == 2 && ranks % 2 == 1 ? 3 : most);
    }
  }
}

TEST(ParitySets, whole_sets_go_over_as_many_nodes_as_asked) {
  EXPECT_EQ(parity_sets(std::vector<std::int64_t>{0, 1, 2, 3}, 4), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(parity_sets(std::vector<std::int64_t>{0, 0, 1, 1, 2, 2, 3, 3}, 4),
            (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(parity_sets(std::vector<std::int64_t>{0, 0, 0, 1, 2, 2}, 4),
            (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(parity_sets(std::vector<std::int64_t>{0, 0, 0, 1}, 4).empty());
  EXPECT_TRUE(parity_sets(std::vector<std::int64_t>{5}, 2).empty());
}

}  // namespace parity_sets_test
}  // namespace forebay::checkpoint
