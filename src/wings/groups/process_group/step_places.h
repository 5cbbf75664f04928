// The steps of a file that have a variable, and the place of its index entry in each. Steps with
// equal contents follow at equal distances, and so do their entries. A stretch of such steps takes
// 40 bytes, whatever its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"

namespace forebay::process_group {

/// The place of a variable's blocks of one step in an index: its entry in md.0. In BP3 it is the
/// range from the step's first block to its last one; blocks of other steps may lie in between.
struct EntryPlace {
  Offset offset = 0;
  Count bytes = 0;
  bool operator==(const EntryPlace&) const = default;
};

class StepPlaces {
 public:
  struct Stretch {
    std::uint32_t before = 0;  ///< number of steps in earlier stretches
    std::uint32_t first = 0, every = 1, steps = 0;
    EntryPlace place;     ///< in the first step
    Offset distance = 0;  ///< from one place to the next
    std::uint32_t step(std::uint32_t n) const { return first + n * every; }
    EntryPlace in(std::uint32_t n) const { return {place.offset + n * distance, place.bytes}; }
    std::uint32_t last() const { return step(steps - 1); }
  };

  /// Appends a step. It must be later than all others.
  void append(std::uint32_t step, const EntryPlace& place) {
    if (!stretches_.empty() && extend(stretches_.back(), step, place)) return;
    stretches_.push_back({static_cast<std::uint32_t>(size()), step, 1, 1, place, 0});
  }
  /// Appends a whole stretch. Whoever follows a file appends a short one at each look, which may
  /// continue the last one.
  void append(Stretch stretch) {
    std::uint32_t n = 0;
    while (n < stretch.steps && !empty() &&
           extend(stretches_.back(), stretch.step(n), stretch.in(n)))
      ++n;
    if (n == stretch.steps) return;
    stretch.place = stretch.in(n);
    stretch.first = stretch.step(n);
    stretch.steps -= n;
    if (stretch.steps == 1) return append(stretch.first, stretch.place);
    stretch.before = static_cast<std::uint32_t>(size());
    stretches_.push_back(stretch);
  }

  bool empty() const { return stretches_.empty(); }
  std::size_t size() const {
    return empty() ? 0 : std::size_t{stretches_.back().before} + stretches_.back().steps;
  }
  /// Returns the n-th step; n < size().
  std::uint32_t operator[](std::size_t n) const;
  std::uint32_t back() const { return stretches_.back().last(); }
  /// Returns all steps in a new list: four bytes each.
  std::vector<std::uint32_t> numbers() const;
  /// Returns nothing if the step is not one of these.
  std::optional<EntryPlace> find(std::size_t step) const;
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  static bool extend(Stretch& last, std::uint32_t step, const EntryPlace& place);

  std::vector<Stretch> stretches_;
};

}  // namespace forebay::process_group
