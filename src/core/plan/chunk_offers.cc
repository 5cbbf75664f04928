#include "plan/chunk_offers.h"

#include <algorithm>

namespace forebay {

std::vector<bool> take_offers(std::span<const ChunkOffer> offers, const WorkTotals& totals,
                              Count& load, const OwnerOptions& options) {
  const Count share = totals.share();
  const double penalty = totals.work > 0 ? options.penalty * static_cast<double>(totals.bytes) /
                                               static_cast<double>(totals.work)
                                         : 0;
  std::vector<bool> taken(offers.size());
  load = 0;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const ChunkOffer& o = offers[i];
    const auto excess = [&](Count before) { return std::max<Count>(0, before + o.work - share); };
    // How much more this rank would exceed the share than an idle one.
    const auto more = static_cast<double>(excess(load) - excess(0));
    taken[i] =
        load + o.work <= share + totals.largest && static_cast<double>(o.access) >= penalty * more;
    if (taken[i]) load += o.work;
  }
  return taken;
}

Room::Room(std::span<const Count> loads, const WorkTotals& totals) {
  end_.reserve(loads.size());
  Count end = 0;
  for (const Count load : loads) {
    end += std::max<Count>(0, totals.share() - load);
    end_.push_back(end);
  }
}

// There is room for all unassigned work: ranks above their share leave more room than that.
Rank Room::owner_at(Count place) const {
  const auto found = std::upper_bound(end_.begin(), end_.end(), place);
  const auto at = found - end_.begin();
  return static_cast<Rank>(std::min<std::ptrdiff_t>(at, std::ssize(end_) - 1));
}

}  // namespace forebay
