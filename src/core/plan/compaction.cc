#include "plan/compaction.h"

#include <algorithm>
#include <numeric>

namespace forebay {

std::vector<SpaceMove> plan_compaction(std::span<const BytesInUse> in_use, Count most,
                                       FileSpace& space) {
  Count sum = 0;
  for (const BytesInUse& each : in_use) sum += round_up(each.bytes, FileSpace::unit);
  if (!is_sparse(space.free_bytes(), sum)) return {};
  std::vector<std::size_t> order(in_use.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return in_use[a].offset > in_use[b].offset; });
  // The end of the file without free space. Moving data to a small free range beyond it would not
  // shorten the file.
  const Offset dense = space.end() - space.free_bytes();
  constexpr std::size_t most_moves = 1 << 16;  // every rank that takes part has the list
  std::vector<SpaceMove> moves;
  for (const std::size_t which : order) {
    if (moves.size() == most_moves) break;
    const BytesInUse& last = in_use[which];
    most -= last.bytes;
    if (last.stays || most < 0) break;
    auto to = space.allocate_below(last.bytes, std::min(dense, last.offset));
    if (!to) to = space.allocate_below(last.bytes, last.offset);
    if (!to) break;
    moves.push_back({which, *to});
  }
  return moves;
}

}  // namespace forebay
