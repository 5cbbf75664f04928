#include "plan/file_aggregators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"

namespace forebay {
namespace file_aggregators_test {

std::vector<Count> files_by_node(const FileAggregators& aggregators, Count files,
                                 std::size_t nodes) {
  std::vector<Count> counts(nodes, 0);
  for (Count f = 0; f < files; ++f) ++counts[static_cast<std::size_t>(aggregators.of(f).node)];
  return counts;
}

TEST(FileAggregators, on_one_node_they_are_spread_over_its_ranks) {
  for (const int ranks : {1, 5, 16}) {
    for (Count files = 1; files <= ranks; ++files) {
      const FileAggregators aggregators(files, std::vector<int>{ranks});
      for (Count f = 0; f < files; ++f)
        EXPECT_EQ(aggregators.of(f).rank, static_cast<int>(f * ranks / files));
    }
  }
}

TEST(FileAggregators, on_equal_nodes_they_are_where_the_formula_of_ranks_has_them) {
  for (const int nodes : {2, 3, 8, 64}) {
    for (const int each : {1, 4, 7}) {
      const Count ranks = Count{nodes} * each;
      for (Count files = 1; files <= ranks; ++files) {
        const FileAggregators aggregators(files, std::vector<int>(std::size_t(nodes), each));
        for (Count f = 0; f < files; ++f)
          ASSERT_EQ(aggregators.of(f).node, f * ranks / files / each)
              << files << " files, " << nodes << " nodes of " << each;
      }
    }
  }
}

TEST(FileAggregators, small_nodes_get_no_second_file_for_a_rank) {
  const std::vector<int> nodes{3, 1, 2};
  using Counts = std::vector<Count>;
  EXPECT_EQ(files_by_node({1, nodes}, 1, 3), (Counts{1, 0, 0}));
  EXPECT_EQ(files_by_node({3, nodes}, 3, 3), (Counts{1, 1, 1}));
  EXPECT_EQ(files_by_node({4, nodes}, 4, 3), (Counts{2, 1, 1}));
  EXPECT_EQ(files_by_node({5, nodes}, 5, 3), (Counts{2, 1, 2}));
  EXPECT_EQ(files_by_node({6, nodes}, 6, 3), (Counts{3, 1, 2}));
}

TEST(FileAggregators, no_rank_has_two_and_no_node_two_more_than_another_with_room) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> nodes(1 + random() % 20);
    for (int& n : nodes) n = static_cast<int>(1 + random() % (round % 2 != 0 ? 3 : 30));
    const Count ranks = std::accumulate(nodes.begin(), nodes.end(), Count{0});
    const Count files = 1 + static_cast<Count>(random()) % ranks;
    const FileAggregators aggregators(files, nodes);
    std::set<std::pair<int, int>> seen;
    for (Count f = 0; f < files; ++f) {
      const auto place = aggregators.of(f);
      ASSERT_GE(place.rank, 0);
      ASSERT_LT(place.rank, nodes[static_cast<std::size_t>(place.node)]);
      EXPECT_TRUE(seen.insert({place.node, place.rank}).second);
    }
    Count found = 0;
    for (int node = 0; node < std::ssize(nodes); ++node) {
      for (int r = 0; r < nodes[static_cast<std::size_t>(node)]; ++r) {
        const auto file = aggregators.file_at({node, r});
        EXPECT_EQ(file.has_value(), seen.contains({node, r}));
        if (!file) continue;
        EXPECT_EQ(aggregators.of(*file), (FileAggregators::Place{node, r}));
        ++found;
      }
    }
    EXPECT_EQ(found, files);
    const auto counts = files_by_node(aggregators, files, nodes.size());
    const Count fullest = *std::max_element(counts.begin(), counts.end());
    for (std::size_t n = 0; n < nodes.size(); ++n)
      EXPECT_TRUE(counts[n] >= fullest - 1 || counts[n] == nodes[n]);
  }
}

TEST(FileAggregators, more_files_than_ranks_are_refused) {
  EXPECT_THROW(FileAggregators(7, std::vector<int>{3, 3}), Error);
  EXPECT_THROW(FileAggregators(0, std::vector<int>{3, 3}), Error);
  EXPECT_THROW(FileAggregators(1, std::vector<int>{}), Error);
}

}  // namespace file_aggregators_test
}  // namespace forebay
