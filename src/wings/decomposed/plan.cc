#include "decomposed/plan.h"

#include <algorithm>
#include <iterator>

namespace forebay::decomposed {

std::shared_ptr<const Plan> PlanCache::find(const Key& map,
                                            const std::shared_ptr<const Selected>& target) {
  const auto [first, last] = places_.equal_range(PlanKey{map, target->key});
  const auto known = std::find_if(first, last, [&](const auto& place) {
    const auto& its = (*place.second)->target;
    return its == target || (its->pattern == target->pattern && its->gather == target->gather);
  });
  if (known == last) return nullptr;
  plans_.splice(plans_.begin(), plans_, known->second);
  return plans_.front();
}

void PlanCache::keep(const std::shared_ptr<const Plan>& plan) {
  // The order of steps keeps both containers consistent if there is no memory.
  Plans one{plan};
  places_.emplace(key_of(*plan), one.begin());
  plans_.splice(plans_.begin(), one);
  cost_ += cost_of(*plan);
  while (plans_.size() > 1 && cost_ > most_pieces_) {
    const auto last = std::prev(plans_.end());
    const auto [first, end] = places_.equal_range(key_of(**last));
    places_.erase(
        std::find_if(first, end, [&](const auto& place) { return place.second == last; }));
    cost_ -= cost_of(**last);
    plans_.pop_back();
  }
}

void PlanCache::clear() {
  places_.clear();
  plans_.clear();
  cost_ = 0;
}

}  // namespace forebay::decomposed
