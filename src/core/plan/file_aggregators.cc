#include "plan/file_aggregators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace forebay {
namespace {

/// How many files each node has, if it has enough ranks, and how many are left then. These are
/// fewer than the nodes with more ranks.
struct Level {
  Count each, left, nodes_above;
};

Level level_of(Count files, std::span<const int> ranks_of) {
  std::vector<int> sorted(ranks_of.begin(), ranks_of.end());
  std::sort(sorted.begin(), sorted.end());
  Count below = 0;  // files of the nodes that have a file for each rank
  std::size_t full = 0;
  const auto nodes = [&] { return static_cast<Count>(sorted.size() - full); };
  while (nodes() > 0 && (files - below) / nodes() >= sorted[full]) below += sorted[full++];
  if (nodes() == 0) return {sorted.back(), 0, 0};
  const Count each = (files - below) / nodes();
  return {each, files - below - each * nodes(), nodes()};
}

}  // namespace

FileAggregators::FileAggregators(Count files, std::span<const int> ranks_of) : files_(files) {
  const Count ranks = std::accumulate(ranks_of.begin(), ranks_of.end(), Count{0});
  if (files < 1 || files > ranks)
    throw Error(Errc::einval, fmt::format("{} files for {} ranks", files, ranks),
                "ask for at least one file, and at most one for each rank");
  const Level level = level_of(files, ranks_of);
  nodes_.reserve(ranks_of.size());
  Count file = 0, above = 0;
  for (const int n : ranks_of) {
    nodes_.push_back({file, n});
    file += std::min<Count>(n, level.each);
    if (n <= level.each) continue;
    // Distributes the rest: ⌈(i+1)·left/nodes⌉ − ⌈i·left/nodes⌉ files.
    const auto up_to = [&](Count i) {
      return (i * level.left + level.nodes_above - 1) / level.nodes_above;
    };
    file += up_to(above + 1) - up_to(above);
    ++above;
  }
}

Count FileAggregators::files_on(std::size_t node) const {
  return (node + 1 < nodes_.size() ? nodes_[node + 1].first : files_) - nodes_[node].first;
}

FileAggregators::Place FileAggregators::of(Count file) const {
  const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), file,
                                      [](Count f, const Node& n) { return f < n.first; });
  const auto node = static_cast<std::size_t>(after - nodes_.begin() - 1);
  const Count rank = (file - nodes_[node].first) * nodes_[node].ranks / files_on(node);
  return {static_cast<int>(node), static_cast<int>(rank)};
}

std::optional<Count> FileAggregators::file_at(Place place) const {
  const auto node = static_cast<std::size_t>(place.node);
  const Count files = files_on(node), ranks = nodes_[node].ranks;
  if (files == 0) return std::nullopt;
  // The first file on the node whose rank is not lower.
  const Count file = (place.rank * files + ranks - 1) / ranks;
  if (file >= files || file * ranks / files != place.rank) return std::nullopt;
  return nodes_[node].first + file;
}

}  // namespace forebay
