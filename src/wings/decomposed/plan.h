// Plans: which elements of a map's slabs are which elements of a selection. A plan serves every
// variable and record of that map.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"
#include "decomposed/format/decomposed_files.h"
#include "decomposed/pieces.h"
#include "decomposed/selected.h"

namespace forebay::decomposed {

struct Plan {
  Key map;  ///< its identity
  std::shared_ptr<const Selected> target;
  std::vector<Piece> pieces;  ///< by place, in elements of the slab; none overlap
  Levels levels;
  Count covered = 0;  ///< elements
};

/// A slab, and what a reader needs to know of its map.
struct Slab {
  Entry entry;
  std::uint32_t file = 0;
  Key map;             ///< its identity
  Count elements = 0;  ///< of the map
};
inline bool is_newer(const Slab& a, const Slab& b) { return a.entry.epoch > b.entry.epoch; }

/// A cache of plans. Not thread-safe.
class PlanCache {
 public:
  /// `most_pieces` is about the sum over all plans. The last plan stays in any case.
  explicit PlanCache(std::size_t most_pieces) : most_pieces_(most_pieces) {}

  /// Returns null if the plan is not known.
  std::shared_ptr<const Plan> find(const Key& map, const std::shared_ptr<const Selected>& target);
  void keep(const std::shared_ptr<const Plan>& plan);
  void clear();

 private:
  using Plans = std::list<std::shared_ptr<const Plan>>;
  using PlanKey = std::pair<Key, Key>;  // map, target

  static PlanKey key_of(const Plan& plan) { return {plan.map, plan.target->key}; }
  static std::size_t cost_of(const Plan& plan) { return plan.pieces.size() + 8; }

  std::size_t most_pieces_;
  Plans plans_;  // the last used first
  std::multimap<PlanKey, Plans::iterator> places_;
  std::size_t cost_ = 0;  // of all plans, in pieces
};

}  // namespace forebay::decomposed
