// Which steps of a file have a variable, and where the index tells of it in each. Steps that are
// written alike lie at equal distances, every one of them or every n-th, and so do their places: a
// stretch of such steps takes 40 bytes, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"

namespace forebay::process_group {

/// Where an index tells of a variable's blocks in a step: its entry in md.0; in BP3 the blocks
/// alone, of the first of the step to the last one. Those of other steps may lie between them.
struct EntryPlace {
  Offset offset = 0;
  Count bytes = 0;
  bool operator==(const EntryPlace&) const = default;
};

class StepPlaces {
 public:
  struct Stretch {
    std::uint32_t before = 0;  ///< steps of the stretches before it
    std::uint32_t first = 0, every = 1, steps = 0;
    EntryPlace place;     ///< in the first one
    Offset distance = 0;  ///< from one place to the next
    std::uint32_t step(std::uint32_t n) const { return first + n * every; }
    EntryPlace in(std::uint32_t n) const { return {place.offset + n * distance, place.bytes}; }
    std::uint32_t last() const { return step(steps - 1); }
  };

  /// A step behind those that there are.
  void append(std::uint32_t step, const EntryPlace& place) {
    if (!stretches_.empty() && extend(stretches_.back(), step, place)) return;
    stretches_.push_back({static_cast<std::uint32_t>(size()), step, 1, 1, place, 0});
  }
  /// The same for all of one.
  void append(Stretch stretch) {
    stretch.before = static_cast<std::uint32_t>(size());
    stretches_.push_back(stretch);
  }

  bool empty() const { return stretches_.empty(); }
  std::size_t size() const {
    return empty() ? 0 : std::size_t{stretches_.back().before} + stretches_.back().steps;
  }
  /// The n-th of the steps; n < size().
  std::uint32_t operator[](std::size_t n) const;
  std::uint32_t back() const { return stretches_.back().last(); }
  /// All of them, made where they are asked for: four bytes each.
  std::vector<std::uint32_t> numbers() const;
  /// Nothing: that step is none of them.
  std::optional<EntryPlace> find(std::size_t step) const;
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  static bool extend(Stretch& last, std::uint32_t step, const EntryPlace& place);

  std::vector<Stretch> stretches_;
};

}  // namespace forebay::process_group
