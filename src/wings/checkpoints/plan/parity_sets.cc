#include "checkpoints/plan/parity_sets.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace forebay::checkpoint {

std::vector<int> parity_sets(std::span<const std::int64_t> node_of, int most) {
  const std::size_t ranks = node_of.size();
  std::map<std::int64_t, std::size_t> on_node;
  for (const std::int64_t node : node_of) ++on_node[node];
  std::size_t sets = (ranks + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most);
  for (const auto& [node, its] : on_node) sets = std::max(sets, its);
  sets = std::min(sets, ranks / 2);
  for (const auto& [node, its] : on_node)
    if (its > sets) return {};
  if (sets == 0) return {};
  // Ranks are dealt node by node. A node has at most as many ranks as there are sets, so no set
  // gets two of them.
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return node_of[a] < node_of[b]; });
  std::vector<int> set_of(ranks);
  for (std::size_t i = 0; i < ranks; ++i) set_of[order[i]] = static_cast<int>(i % sets);
  return set_of;
}

}  // namespace forebay::checkpoint
