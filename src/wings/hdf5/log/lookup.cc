#include "hdf5/log/lookup.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number_bytes.h"

namespace forebay::logged {
namespace {

/// Returns the average share of the whole that a box covers: what a read of one element meets.
double coverage(const std::vector<Count>& boxes, std::size_t dims) {
  const std::size_t n = boxes.size() / (2 * dims);
  std::vector<Count> low(dims, INT64_MAX), high(dims, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < dims; ++d) {
      low[d] = std::min(low[d], boxes[2 * (i * dims + d)]);
      high[d] = std::max(high[d], boxes[2 * (i * dims + d) + 1]);
    }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double share = 1;
    for (std::size_t d = 0; d < dims; ++d)
      share *= static_cast<double>(boxes[2 * (i * dims + d) + 1] - boxes[2 * (i * dims + d)]) /
               static_cast<double>(std::max<Count>(1, high[d] - low[d]));
    sum += share;
  }
  return sum;
}

}  // namespace

Lookup::Lookup(EntryList list) : list_(std::move(list)) {
  for (std::size_t i = 0; i < list_.boxes.size(); i += 2)
    if (list_.boxes[i] < 0 || list_.boxes[i + 1] <= list_.boxes[i]) damaged("an index's box");
  for (std::uint32_t i = 0; i < list_.entries.size(); ++i)
    if (list_.entries[i].kind != Kind::write) cuts_.push_back(i);
  // The order must have every write exactly once, and nothing else.
  std::vector<bool> there(list_.entries.size());
  for (const std::uint32_t n : list_.order) {
    if (there[n] || list_.entries[n].kind != Kind::write) damaged("an index's order");
    there[n] = true;
  }
  if (list_.order.size() + cuts_.size() != list_.entries.size()) damaged("an index's order");
  build_levels();
}

bool Lookup::set_ndims(std::uint32_t ndims) {
  const bool free = list_.order.empty() && all_boxes_.empty() && intervals_.empty();
  if (free) list_.ndims = ndims;
  return list_.ndims == ndims;
}

/// Turns the tree back into the lists from which it is built. Intervals become boxes around them,
/// since added entries may have been made at other extents.
void Lookup::take_back() {
  stale_ = true;
  const std::size_t numbers = 2 * list_.box_dims();
  std::vector<std::size_t> place(list_.entries.size(), SIZE_MAX);
  for (std::size_t i = 0; i < list_.order.size(); ++i) place[list_.order[i]] = i;
  Count row = 1;
  for (const Count extent : list_.inner) row *= extent;
  for (const std::size_t i : place) {
    if (i == SIZE_MAX) continue;
    const Count* box = &list_.boxes[i * numbers];
    if (list_.by_box) {
      all_boxes_.insert(all_boxes_.end(), box, box + numbers);
      continue;
    }
    intervals_.insert(intervals_.end(), {box[0], box[1]});
    all_boxes_.insert(all_boxes_.end(), {box[0] / row, (box[1] - 1) / row + 1});
    for (const Count extent : list_.inner) all_boxes_.insert(all_boxes_.end(), {0, extent});
  }
  mixed_ = list_.by_box && !list_.order.empty();  // there are no intervals to add to
}

void Lookup::add(const Entry& entry, const PatternRef& ref, const Bounds* bounds) {
  if (list_.entries.size() >= UINT32_MAX)
    throw Error(Errc::evarsize, "a dataset has 2^32 writes, more than its index can number",
                "write fewer and larger pieces");
  if (!stale_) take_back();
  list_.entries.push_back(entry);
  list_.refs.push_back(ref);
  if (bounds == nullptr) return;
  set_ndims(static_cast<std::uint32_t>(bounds->low.size()));
  if (all_boxes_.empty()) list_.inner = bounds->inner;
  mixed_ |= list_.inner != bounds->inner;
  for (std::size_t d = 0; d < list_.ndims; ++d)
    all_boxes_.insert(all_boxes_.end(), {bounds->low[d], bounds->high[d]});
  intervals_.insert(intervals_.end(), {bounds->first, bounds->last});
}

void Lookup::choose_boxes() {
  list_.by_box =
      list_.ndims > 1 && (mixed_ || coverage(all_boxes_, list_.ndims) < coverage(intervals_, 1));
  const std::size_t numbers = 2 * list_.box_dims();
  auto& from = list_.by_box ? all_boxes_ : intervals_;
  // Sorts entries into write order, with their boxes.
  const std::size_t n = list_.entries.size();
  std::vector<std::uint32_t> sorted(n), box_of(n);
  std::iota(sorted.begin(), sorted.end(), 0U);
  for (std::uint32_t i = 0, box = 0; i < n; ++i)
    box_of[i] = list_.entries[i].kind == Kind::write ? box++ : 0;
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return goes_before(list_.entries[a], list_.entries[b]);
  });
  EntryList next;
  next.ndims = list_.ndims, next.by_box = list_.by_box;
  if (!list_.by_box) next.inner = list_.inner;
  next.entries.reserve(n), next.refs.reserve(n);
  cuts_.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t old = sorted[i];
    next.entries.push_back(list_.entries[old]);
    next.refs.push_back(list_.refs[old]);
    if (list_.entries[old].kind != Kind::write) {
      cuts_.push_back(i);
      continue;
    }
    next.order.push_back(i);
    const auto box = from.begin() + static_cast<long>(box_of[old] * numbers);
    next.boxes.insert(next.boxes.end(), box, box + static_cast<long>(numbers));
  }
  list_ = std::move(next);
  all_boxes_ = {}, intervals_ = {};
}

Count Lookup::center(std::uint32_t leaf, std::size_t dim) const {
  const Count* box = &list_.boxes[(leaf * list_.box_dims() + dim) * 2];
  return box[0] / 2 + box[1] / 2;
}

/// Sort-tile-recursive: cuts slabs along the first dimension, then each along the next.
void Lookup::tile(std::size_t begin, std::size_t end, std::size_t dim) {
  const std::size_t dims = list_.box_dims(), n = end - begin;
  if (n <= fan || dim == dims) return;
  std::vector<std::uint32_t> leaves(n);
  std::iota(leaves.begin(), leaves.end(), static_cast<std::uint32_t>(begin));
  std::stable_sort(leaves.begin(), leaves.end(), [&](std::uint32_t a, std::uint32_t b) {
    return center(a, dim) < center(b, dim);
  });
  std::vector<std::uint32_t> order(n);
  std::vector<Count> boxes(n * 2 * dims);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = list_.order[leaves[i]];
    std::copy_n(&list_.boxes[leaves[i] * 2 * dims], 2 * dims, &boxes[i * 2 * dims]);
  }
  std::copy(order.begin(), order.end(), list_.order.begin() + static_cast<long>(begin));
  std::copy(boxes.begin(), boxes.end(), list_.boxes.begin() + static_cast<long>(begin * 2 * dims));
  const double pages = std::ceil(static_cast<double>(n) / fan);
  const double slabs = std::ceil(std::pow(pages, 1.0 / static_cast<double>(dims - dim)));
  const auto slab = round_up(static_cast<Count>(std::ceil(static_cast<double>(n) / slabs)), fan);
  for (std::size_t i = begin; i < end; i += static_cast<std::size_t>(slab))
    tile(i, std::min(end, i + static_cast<std::size_t>(slab)), dim + 1);
}

void Lookup::build_levels() {
  levels_.clear();
  const std::size_t numbers = 2 * list_.box_dims();
  const std::vector<Count>* below = &list_.boxes;
  while (below->size() / numbers > fan) {
    std::vector<Count> level;
    for (std::size_t i = 0; i < below->size(); i += numbers) {
      if (i / numbers % fan == 0) {
        const auto box = below->begin() + static_cast<long>(i);
        level.insert(level.end(), box, box + static_cast<long>(numbers));
        continue;
      }
      Count* around = &level[level.size() - numbers];
      for (std::size_t k = 0; k < numbers; k += 2) {
        around[k] = std::min(around[k], (*below)[i + k]);
        around[k + 1] = std::max(around[k + 1], (*below)[i + k + 1]);
      }
    }
    levels_.push_back(std::move(level));
    below = &levels_.back();
  }
}

void Lookup::build() {
  choose_boxes();
  tile(0, list_.order.size(), 0);
  build_levels();
  stale_ = false;
}

Count Lookup::memory() const {
  return static_cast<Count>(list_.entries.size() * (sizeof(Entry) + sizeof(PatternRef) + 4) +
                            (list_.boxes.size() + all_boxes_.size() + intervals_.size()) * 8);
}

std::vector<Count> wanted_box(const ListShape& list, const Bounds& wanted) {
  std::vector<Count> box;
  if (list.by_box) {
    for (std::size_t d = 0; d < list.ndims; ++d)
      box.insert(box.end(), {wanted.low[d], wanted.high[d]});
    return box;
  }
  if (wanted.inner == list.inner) return {wanted.first, wanted.last};
  // The extents have changed. The interval goes around those wanted coordinates that exist at the
  // old extents. What exceeds 63 bits lies beyond all boxes.
  Offset first = wanted.low[0], last = wanted.high[0] - 1;
  const auto inwards = [](Offset& at, Count extent, Count coordinate) {
    return multiply_fits(at, extent, at) && add_fits(at, coordinate, at);
  };
  for (std::size_t d = 1; d < list.ndims; ++d) {
    const Count extent = list.inner[d - 1];
    if (wanted.low[d] >= extent || !inwards(first, extent, wanted.low[d])) return {0, 0};
    if (!inwards(last, extent, std::min(extent, wanted.high[d]) - 1)) last = INT64_MAX - 1;
  }
  return {first, last == INT64_MAX ? last : last + 1};
}

void Lookup::find(const Bounds& wanted, std::vector<std::uint32_t>& numbers) const {
  numbers.clear();
  const std::size_t dims = list_.box_dims();
  const std::vector<Count> box =
      list_.order.empty() ? std::vector<Count>{0, 0} : wanted_box(list_, wanted);
  const auto descend = [&](const auto& self, std::size_t level, std::size_t begin,
                           std::size_t end) -> void {
    const auto& boxes = level == 0 ? list_.boxes : levels_[level - 1];
    end = std::min(end, boxes.size() / (2 * dims));
    for (std::size_t i = begin; i < end; ++i) {
      if (!boxes_meet(&boxes[i * 2 * dims], box.data(), dims)) continue;
      if (level == 0)
        numbers.push_back(list_.order[i]);
      else
        self(self, level - 1, i * fan, (i + 1) * fan);
    }
  };
  descend(descend, levels_.size(), 0, SIZE_MAX);
  numbers.insert(numbers.end(), cuts_.begin(), cuts_.end());
  std::sort(numbers.begin(), numbers.end());
}

}  // namespace forebay::logged
