// Plans: which elements of a map's slabs are which ones of a selection. What was found out once
// serves every variable and record by that map.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"
#include "format/decomposed.h"
#include "layout/decomposed/pieces.h"
#include "layout/decomposed/selected.h"

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

/// Plans that are kept, as long as there is room. Not thread-safe.
class PlanCache {
 public:
  /// `most_pieces`: of all plans together, about; the last one stays in any case.
  explicit PlanCache(std::size_t most_pieces) : most_pieces_(most_pieces) {}

  /// Null: it is not known.
  std::shared_ptr<const Plan> find(const Key& map, const std::shared_ptr<const Selected>& target);
  void keep(const std::shared_ptr<const Plan>& plan);
  void clear();

 private:
  using Plans = std::list<std::shared_ptr<const Plan>>;
  using PlanKey = std::pair<Key, Key>;  // map, target

  static PlanKey key_of(const Plan& plan) { return {plan.map, plan.target->key}; }
  static std::size_t cost_of(const Plan& plan) { return plan.pieces.size() + 8; }

  std::size_t most_pieces_;
  Plans plans_;  // the one used last first
  std::multimap<PlanKey, Plans::iterator> places_;
  std::size_t cost_ = 0;  // of all together, in pieces
};

}  // namespace forebay::decomposed
