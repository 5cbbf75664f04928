// Intersections of blocks and selections, run by run, and marks of elements that have their value
// already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "groups/format/bp.h"

namespace forebay::process_group {

/// Runs of elements that are contiguous both in a block and in the box that is read of it.
class Rows {
 public:
  Rows(const std::vector<Count>& in_block, const std::vector<Count>& in_box,
       const std::vector<Count>& both)
      : both_(both), outer_(both.size()), at_(both.size(), 0) {
    while (outer_ > 0) {
      const std::size_t d = outer_ - 1;
      length_ *= both[d];
      --outer_;
      if (both[d] != in_block[d] || both[d] != in_box[d]) break;
    }
    block_step_ = steps_of(in_block);
    box_step_ = steps_of(in_box);
  }
  Count length() const { return length_; }
  /// The number of dimensions over which runs repeat. The remaining ones are within a run.
  std::size_t outer() const { return outer_; }
  /// Calls f(block, box) with the first element of each run in both, from the intersection's first
  /// elements on.
  template <typename F>
  void each(Offset block, Offset box, F&& f) {
    for (;;) {
      f(block, box);
      std::size_t d = outer_;
      for (;;) {
        if (d == 0) return;
        --d;
        block += block_step_[d];
        box += box_step_[d];
        if (++at_[d] < both_[d]) break;
        block -= block_step_[d] * both_[d];
        box -= box_step_[d] * both_[d];
        at_[d] = 0;
      }
    }
  }
  static std::vector<Count> steps_of(const std::vector<Count>& shape) {
    std::vector<Count> steps(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) steps[d - 1] = steps[d] * shape[d];
    return steps;
  }

 private:
  const std::vector<Count>& both_;
  std::size_t outer_;
  std::vector<Count> at_;
  Count length_ = 1;
  std::vector<Count> block_step_, box_step_;
};

struct Overlap {
  std::vector<Count> in_block, in_box, count;  // its begin in each, and its extents
};

/// Returns whether a block and a box have an element in common.
inline bool meets(const bp::Shape& block, const std::vector<Count>& start,
                  const std::vector<Count>& count) {
  for (std::size_t d = 0; d < count.size(); ++d)
    if (block.start[d] >= start[d] + count[d] || start[d] >= block.start[d] + block.count[d] ||
        block.count[d] == 0 || count[d] == 0)
      return false;
  return true;
}

/// Returns the overlap of a block and a box that meet.
inline Overlap overlap_of(const bp::Shape& block, const std::vector<Count>& start,
                          const std::vector<Count>& count) {
  Overlap both;
  for (std::size_t d = 0; d < count.size(); ++d) {
    const Count from = std::max(block.start[d], start[d]);
    const Count to = std::min(block.start[d] + block.count[d], start[d] + count[d]);
    both.in_block.push_back(from - block.start[d]);
    both.in_box.push_back(from - start[d]);
    both.count.push_back(to - from);
  }
  return both;
}

inline Count product(const std::vector<Count>& list) {
  return std::accumulate(list.begin(), list.end(), Count{1}, std::multiplies<>());
}

inline Offset linear(const std::vector<Count>& at, const std::vector<Count>& steps) {
  return std::inner_product(at.begin(), at.end(), steps.begin(), Offset{0});
}

inline bool disjoint(const Overlap& a, const Overlap& b) {
  for (std::size_t d = 0; d < a.count.size(); ++d)
    if (a.in_box[d] + a.count[d] <= b.in_box[d] || b.in_box[d] + b.count[d] <= a.in_box[d])
      return true;
  return false;
}

/// Returns whether no two parts have an element in common. Chooses the dimension along which parts
/// are shortest, relative to their common extent, and compares only parts that meet along it.
inline bool all_apart(const std::vector<Overlap>& parts) {
  if (parts.size() < 2) return true;
  const std::size_t dimensions = parts.front().count.size();
  if (dimensions == 0) return false;
  std::size_t along = 0;
  double least = 2;  // above any share
  for (std::size_t d = 0; d < dimensions; ++d) {
    double sum = 0;
    Count begin = parts.front().in_box[d], end = begin;
    for (const Overlap& part : parts) {
      sum += static_cast<double>(part.count[d]);
      begin = std::min(begin, part.in_box[d]);
      end = std::max(end, part.in_box[d] + part.count[d]);
    }
    const double share = sum / static_cast<double>(parts.size()) / static_cast<double>(end - begin);
    if (share < least) least = share, along = d;
  }
  std::vector<const Overlap*> order, met;
  for (const Overlap& part : parts) order.push_back(&part);
  std::ranges::sort(order, {}, [&](const Overlap* part) { return part->in_box[along]; });
  for (const Overlap* const part : order) {
    std::erase_if(met, [&](const Overlap* other) {
      return other->in_box[along] + other->count[along] <= part->in_box[along];
    });
    for (const Overlap* const other : met)
      if (!disjoint(*part, *other)) return false;
    met.push_back(part);
  }
  return true;
}

/// One bit for each element of a box: whether it has its value.
class Marks {
 public:
  explicit Marks(Count elements) : words_(static_cast<std::size_t>((elements + 63) / 64)) {}

  /// Calls f(first, count) for runs of elements in [first, first + count) without a mark, and marks
  /// them.
  template <typename F>
  void take(Count first, Count count, F&& f) {
    Count run = -1;
    const Count end = first + count;
    for (Count at = first; at < end;) {
      std::uint64_t& word = words_[static_cast<std::size_t>(at / 64)];
      const Count upto = std::min(end, (at / 64 + 1) * 64);
      const std::uint64_t of = bits(at % 64, upto - at);
      if ((word & of) == of || (word & of) == 0) {
        if ((word & of) == 0 && run < 0) run = at;
        if ((word & of) != 0 && run >= 0) f(run, at - run), run = -1;
      } else {
        for (Count bit = at; bit < upto; ++bit) {
          const bool marked = (word >> bit % 64 & 1) != 0;
          if (!marked && run < 0) run = bit;
          if (marked && run >= 0) f(run, bit - run), run = -1;
        }
      }
      word |= of;
      at = upto;
    }
    if (run >= 0) f(run, end - run);
  }

 private:
  static std::uint64_t bits(Count first, Count count) {
    return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
  }
  std::vector<std::uint64_t> words_;
};

}  // namespace forebay::process_group
