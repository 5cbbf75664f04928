#include "groups/process_group/step_places.h"

#include <algorithm>

namespace forebay::process_group {

bool StepPlaces::extend(Stretch& last, std::uint32_t step, const EntryPlace& place) {
  const std::uint32_t every = step - last.last();
  const Offset distance = place.offset - last.in(last.steps - 1).offset;
  const bool fits = last.steps == 1 || (every == last.every && distance == last.distance);
  if (!fits || place.bytes != last.place.bytes) return false;
  last.every = every;
  last.distance = distance;
  ++last.steps;
  return true;
}

std::uint32_t StepPlaces::operator[](std::size_t n) const {
  const auto next = std::ranges::upper_bound(stretches_, n, {}, &Stretch::before);
  const Stretch& stretch = *std::prev(next);
  return stretch.step(static_cast<std::uint32_t>(n) - stretch.before);
}

std::vector<std::uint32_t> StepPlaces::numbers() const {
  std::vector<std::uint32_t> all;
  all.reserve(size());
  for (const Stretch& stretch : stretches_)
    for (std::uint32_t n = 0; n < stretch.steps; ++n) all.push_back(stretch.step(n));
  return all;
}

std::optional<EntryPlace> StepPlaces::find(std::size_t step) const {
  const auto next = std::ranges::upper_bound(stretches_, step, {}, &Stretch::first);
  if (next == stretches_.begin()) return std::nullopt;
  const Stretch& stretch = *std::prev(next);
  const std::size_t n = (step - stretch.first) / stretch.every;
  if (n >= stretch.steps || (step - stretch.first) % stretch.every != 0) return std::nullopt;
  return stretch.in(static_cast<std::uint32_t>(n));
}

}  // namespace forebay::process_group
