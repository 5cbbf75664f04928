#include "plan/file_space.h"

#include <algorithm>
#include <iterator>

namespace forebay {

FileSpace::FileSpace(Offset begin, std::vector<Range> used) : end_(round_up(begin, unit)) {
  std::sort(used.begin(), used.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (const Range& r : used) {
    const Offset from = r.begin / unit * unit, to = round_up(r.end, unit);
    if (from > end_) add(end_, from);
    end_ = std::max(end_, to);
  }
}

void FileSpace::add(Offset begin, Offset end) {
  free_.emplace(begin, end);
  by_size_.emplace(end - begin, begin);
}

FileSpace::Ranges::iterator FileSpace::remove(Ranges::iterator range) {
  by_size_.erase({range->second - range->first, range->first});
  return free_.erase(range);
}

Offset FileSpace::allocate(Count bytes) {
  const Count wanted = round_up(std::max<Count>(bytes, 1), unit);
  const auto best = by_size_.lower_bound({wanted, 0});
  if (best == by_size_.end()) {
    const Offset at = end_;
    end_ += wanted;
    return at;
  }
  return take(best->second, best->second + best->first, wanted);
}

std::optional<Offset> FileSpace::allocate_below(Count bytes, Offset limit) {
  const Count wanted = round_up(std::max<Count>(bytes, 1), unit);
  constexpr int most_tries = 64;
  // The first range of each size is the lowest one. If it is too high, so are the others.
  auto fit = by_size_.lower_bound({wanted, 0});
  for (int i = 0; i < most_tries && fit != by_size_.end(); ++i) {
    if (fit->second + wanted <= limit) return take(fit->second, fit->second + fit->first, wanted);
    fit = by_size_.lower_bound({fit->first + 1, 0});
  }
  // The lowest ranges are rarely too high.
  auto low = free_.begin();
  for (int i = 0; i < most_tries && low != free_.end() && low->first + wanted <= limit; ++i, ++low)
    if (low->first + wanted <= low->second) return take(low->first, low->second, wanted);
  return std::nullopt;
}

// Takes `bytes` from the beginning of a free range. Needs no memory, so that ranks, which make the
// same calls, do not come to differ.
Offset FileSpace::take(Offset from, Offset to, Count bytes) {
  auto range = free_.extract(from);
  auto size = by_size_.extract({to - from, from});
  if (from + bytes == to) return from;
  range.key() = from + bytes;
  size.value() = {to - from - bytes, from + bytes};
  free_.insert(std::move(range));
  by_size_.insert(std::move(size));
  return from;
}

void FileSpace::release(Offset offset, Count bytes) {
  Offset from = offset, to = offset + round_up(std::max<Count>(bytes, 1), unit);
  auto next = free_.lower_bound(from);
  if (next != free_.begin() && std::prev(next)->second == from) {
    from = std::prev(next)->first;
    next = remove(std::prev(next));
  }
  if (next != free_.end() && next->first == to) {
    to = next->second;
    remove(next);
  }
  if (to == end_) {
    end_ = from;
  } else {
    add(from, to);
  }
}

void FileSpace::skip_to(Offset to) { end_ = std::max(end_, round_up(to, unit)); }

Count FileSpace::free_bytes() const {
  Count sum = 0;
  for (const auto& [from, to] : free_) sum += to - from;
  return sum;
}

}  // namespace forebay
