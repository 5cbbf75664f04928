#include "groups/process_group/data_spread.h"

#include <algorithm>

#include "groups/process_group/bp_files.h"

namespace forebay::process_group {

int spread_of(Count step_bytes, int ranks, int node_ranks) {
  constexpr Count enough = 512 << 10;
  const Count of_rank = step_bytes / ranks;
  if (of_rank == 0 || of_rank * node_ranks < enough) return WriteOptions::all_ranks;
  const Count sharing = std::max<Count>((enough + of_rank - 1) / of_rank,
                                        (ranks + most_spread_files - 1) / most_spread_files);
  if (sharing >= ranks) return WriteOptions::all_ranks;
  return sharing < node_ranks ? static_cast<int>(sharing) : WriteOptions::ranks_of_node;
}

}  // namespace forebay::process_group
