// The five ways of H §V-C to bring compressed blocks of very different sizes to files, as plans:
// which rank writes how much to which file, and what moves. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/types.h"
#include "sizes/size_grid.h"

namespace forebay::bench {

enum class Pipeline {
  file_per_process,
  collective,        ///< one file, MPI-IO: each node's aggregator has an equal part of it
  group_collective,  ///< a file for each group of neighbouring ranks, one of which writes it
  non_balanced,      ///< patches in Morton order, equally many to a file
  balanced  ///< the same, equally many bytes, by the plan of writes (plan/balanced_files.h)
};
constexpr Pipeline all_pipelines[] = {Pipeline::file_per_process, Pipeline::collective,
                                      Pipeline::group_collective, Pipeline::non_balanced,
                                      Pipeline::balanced};
std::string_view name_of(Pipeline pipeline);

/// What ranks have: patches of a grid, each rank a block of them.
struct Load {
  Lengths ranks{}, patches_of{};    ///< the grid of ranks; of a rank's patches
  std::vector<Count> bytes;         ///< of patches, in Morton order of the grid of all
  std::vector<std::int32_t> owner;  ///< the rank that has each

  Count count() const { return ranks[0] * ranks[1] * ranks[2]; }
};

/// What the ranks of a larger run have: of each variable what the grid says at their middles, times
/// `scale`, shared among their patches as the grid has it there.
Load extrapolated(const SizeGrid& grid, const Lengths& ranks, const Lengths& patches_of,
                  int variables, double scale);

/// The rank that writes each of several files, where ranks of one group need not share one.
std::vector<std::int32_t> writers_of(const Load& load, Count files, int node_ranks);

struct PipelinePlan {
  std::vector<Count> file_bytes;
  /// The file of each patch, in Morton order; of a file of all, or of each rank, none.
  std::vector<std::uint32_t> file_of_patch;
  std::vector<std::int32_t> writers;  ///< the rank that writes each file; none as above
  Count most_written = 0;             ///< by one rank
  Count moved = 0;                    ///< bytes that one rank has and another one writes
  double largest_over_mean = 1;       ///< of what writers write
};

/// `files` of several, at most as many as ranks. Nodes have `node_ranks` consecutive ranks.
/// O(patches log patches), whatever the number of ranks.
PipelinePlan plan_of(Pipeline pipeline, const Load& load, Count files, int node_ranks);

}  // namespace forebay::bench
