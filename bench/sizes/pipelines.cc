#include "sizes/pipelines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "patches/plan/balanced_files_testing.h"
#include "patches/plan/morton.h"
#include "plan/file_aggregators.h"

namespace forebay::bench {
namespace {

std::size_t index(Count i) { return static_cast<std::size_t>(i); }

std::vector<Count> bytes_of_ranks(const Load& load) {
  std::vector<Count> bytes(index(load.count()));
  for (std::size_t p = 0; p < load.bytes.size(); ++p) bytes[index(load.owner[p])] += load.bytes[p];
  return bytes;
}

/// Nodes of so many ranks, the last one of what is left.
std::vector<int> nodes_of(Count ranks, int node_ranks) {
  std::vector<int> nodes(index((ranks - 1) / node_ranks + 1), node_ranks);
  nodes.back() = static_cast<int>(ranks - (std::ssize(nodes) - 1) * node_ranks);
  return nodes;
}

void note_writers(PipelinePlan& plan, std::span<const Count> written) {
  const Count total = std::accumulate(written.begin(), written.end(), Count{0});
  plan.most_written = *std::max_element(written.begin(), written.end());
  if (total == 0) return;
  plan.largest_over_mean = static_cast<double>(plan.most_written) *
                           static_cast<double>(written.size()) / static_cast<double>(total);
}

// Ranks' bytes follow each other in the file, which is cut into equal parts, one a node's first
// rank.
PipelinePlan plan_collective(const Load& load, int node_ranks) {
  PipelinePlan plan;
  const auto bytes = bytes_of_ranks(load);
  const Count total = std::accumulate(bytes.begin(), bytes.end(), Count{0});
  const Count writers = (load.count() - 1) / node_ranks + 1;
  const Count part = std::max<Count>((total + writers - 1) / writers, 1);
  plan.file_bytes = {total};
  std::vector<Count> written(index(writers));
  Count at = 0;
  for (Count rank = 0; rank < load.count(); ++rank) {
    for (const Count end = at + bytes[index(rank)]; at < end;) {
      const Count writer = at / part, now = std::min(end, (writer + 1) * part) - at;
      written[index(writer)] += now;
      if (writer * node_ranks != rank) plan.moved += now;
      at += now;
    }
  }
  note_writers(plan, written);
  return plan;
}

/// The file of each patch. Balanced ones are found by the plans of all ranks, one after another.
std::vector<Count> files_of_patches(Pipeline pipeline, const Load& load, Count files) {
  const auto owner_of = [&](Count patch) { return load.owner[index(patch)]; };
  if (pipeline == Pipeline::balanced)
    return balance(load.bytes, files, static_cast<int>(load.count()), owner_of);
  if (pipeline == Pipeline::non_balanced) return by_equal_counts(load.bytes, files);
  std::vector<Count> found;
  for (const Count owner : load.owner) found.push_back(owner * files / load.count());
  return found;
}

PipelinePlan plan_files(Pipeline pipeline, const Load& load, Count files, int node_ranks) {
  PipelinePlan plan;
  plan.writers = writers_of(load, files, node_ranks);
  // The first rank of a group, whatever nodes there are.
  for (Count file = 0; pipeline == Pipeline::group_collective && file < files; ++file)
    plan.writers[index(file)] =
        static_cast<std::int32_t>((file * load.count() + files - 1) / files);
  plan.file_bytes.resize(index(files));
  plan.file_of_patch.reserve(load.bytes.size());
  const auto found = files_of_patches(pipeline, load, files);
  for (std::size_t p = 0; p < load.bytes.size(); ++p) {
    const auto file = static_cast<std::uint32_t>(found[p]);
    plan.file_of_patch.push_back(file);
    plan.file_bytes[file] += load.bytes[p];
    if (plan.writers[file] != load.owner[p]) plan.moved += load.bytes[p];
  }
  note_writers(plan, plan.file_bytes);
  return plan;
}

}  // namespace

std::vector<std::int32_t> writers_of(const Load& load, Count files, int node_ranks) {
  const FileAggregators aggregators(files, nodes_of(load.count(), node_ranks));
  std::vector<std::int32_t> writers;
  for (Count file = 0; file < files; ++file) {
    const auto place = aggregators.of(file);
    writers.push_back(place.node * node_ranks + place.rank);
  }
  return writers;
}

std::string_view name_of(Pipeline pipeline) {
  constexpr std::string_view names[] = {"file-per-process", "collective", "group-collective",
                                        "non-balanced", "balanced"};
  return names[static_cast<std::size_t>(pipeline)];
}

Load extrapolated(const SizeGrid& grid, const Lengths& ranks, const Lengths& patches_of,
                  int variables, double scale) {
  Load load{ranks, patches_of, {}, {}};
  Lengths all{};
  double share = variables * scale;
  for (std::size_t d = 0; d < 3; ++d) {
    all[d] = ranks[d] * patches_of[d];
    share /= static_cast<double>(patches_of[d]);
  }
  const MortonOrder order(all);
  load.bytes.reserve(index(order.cells()));
  load.owner.reserve(index(order.cells()));
  Lengths at{};
  for (Count n = 0; n < order.cells(); ++n) {
    order.position_of(n, at);
    load.bytes.push_back(std::llround(share * size_at(grid, all, at)));
    Count rank = 0;
    for (std::size_t d = 0; d < 3; ++d) rank = rank * ranks[d] + at[d] / patches_of[d];
    load.owner.push_back(static_cast<std::int32_t>(rank));
  }
  return load;
}

PipelinePlan plan_of(Pipeline pipeline, const Load& load, Count files, int node_ranks) {
  if (pipeline == Pipeline::collective) return plan_collective(load, node_ranks);
  if (pipeline != Pipeline::file_per_process) return plan_files(pipeline, load, files, node_ranks);
  PipelinePlan plan;
  plan.file_bytes = bytes_of_ranks(load);
  note_writers(plan, plan.file_bytes);
  return plan;
}

}  // namespace forebay::bench
