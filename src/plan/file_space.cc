#include "plan/file_space.h"

#include <algorithm>
#include <iterator>

namespace forebay {

FileSpace::FileSpace(Offset begin, std::vector<Range> used) : end_(round_up(begin, unit)) {
  std::sort(used.begin(), used.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (const Range& r : used) {
    const Offset from = r.begin / unit * unit, to = round_up(r.end, unit);
    if (from > end_) free_.emplace(end_, from);
    end_ = std::max(end_, to);
  }
}

Offset FileSpace::allocate(Count bytes) {
  const Count wanted = round_up(std::max<Count>(bytes, 1), unit);
  auto best = free_.end();
  for (auto i = free_.begin(); i != free_.end(); ++i) {
    const Count size = i->second - i->first;
    if (size < wanted) continue;
    if (best == free_.end() || size < best->second - best->first) best = i;
    if (size == wanted) break;
  }
  if (best == free_.end()) {
    const Offset at = end_;
    end_ += wanted;
    return at;
  }
  const auto [from, to] = *best;
  free_.erase(best);
  if (from + wanted < to) free_.emplace(from + wanted, to);
  return from;
}

void FileSpace::release(Offset offset, Count bytes) {
  Offset from = offset, to = offset + round_up(std::max<Count>(bytes, 1), unit);
  auto next = free_.lower_bound(from);
  if (next != free_.begin() && std::prev(next)->second == from) {
    from = std::prev(next)->first;
    next = free_.erase(std::prev(next));
  }
  if (next != free_.end() && next->first == to) {
    to = next->second;
    free_.erase(next);
  }
  if (to == end_) {
    end_ = from;
  } else {
    free_.emplace(from, to);
  }
}

void FileSpace::skip_to(Offset to) { end_ = std::max(end_, round_up(to, unit)); }

Count FileSpace::free_bytes() const {
  Count sum = 0;
  for (const auto& [from, to] : free_) sum += to - from;
  return sum;
}

}  // namespace forebay
