#include "groups/process_group/visible.h"

#include <algorithm>
#include <utility>

namespace forebay::process_group {

namespace {

constexpr std::size_t few = 64;         // blocks whose pairs are always compared
constexpr std::size_t most_cut = 2048;  // most overlaps whose pairs are compared
constexpr std::size_t most_parts = 64;  // most parts of each overlap

// Appends the part of `part` outside `hidden`, which it meets: for each dimension the pieces before
// and behind `hidden`. In earlier dimensions they have the extents of the intersection.
void cut(Overlap part, const Overlap& hidden, std::vector<Overlap>& out) {
  const auto keep = [&](std::size_t d, Count from, Count to) {  // places are in the box
    if (from >= to) return;
    Overlap piece = part;
    piece.in_block[d] += from - part.in_box[d];
    piece.in_box[d] = from;
    piece.count[d] = to - from;
    out.push_back(std::move(piece));
  };
  for (std::size_t d = 0; d < part.count.size(); ++d) {
    const Count begin = part.in_box[d], end = begin + part.count[d];
    const Count from = std::max(begin, hidden.in_box[d]);
    const Count to = std::min(end, hidden.in_box[d] + hidden.count[d]);
    keep(d, begin, from);
    keep(d, to, end);
    part.in_block[d] += from - begin;
    part.in_box[d] = from;
    part.count[d] = to - from;
  }
}

void take_all(const std::vector<Overlap>& overlaps, Visible& seen) {
  for (std::size_t n = 0; n < overlaps.size(); ++n) seen.parts.push_back({n, overlaps[n]});
}

void take_visible(const std::vector<Overlap>& overlaps, Visible& seen) {
  for (std::size_t n = 0; n < overlaps.size() && !seen.too_many; ++n) {
    std::vector<Overlap> pieces{overlaps[n]}, rest;
    for (std::size_t later = n + 1; later < overlaps.size() && !pieces.empty(); ++later) {
      if (disjoint(overlaps[n], overlaps[later])) continue;
      rest.clear();
      for (Overlap& piece : pieces)
        disjoint(piece, overlaps[later]) ? rest.push_back(std::move(piece))
                                         : cut(std::move(piece), overlaps[later], rest);
      pieces.swap(rest);
      seen.too_many = pieces.size() > most_parts;
      if (seen.too_many) return;
    }
    for (Overlap& piece : pieces) seen.parts.push_back({n, std::move(piece)});
  }
}

}  // namespace

Count marked(const std::vector<Overlap>& overlaps, const std::vector<Count>& box) {
  const std::vector<Count> steps = Rows::steps_of(box);
  Marks marks(product(box));
  Count elements = 0;
  for (const Overlap& one : overlaps) {
    Rows rows(one.count, box, one.count);
    rows.each(0, linear(one.in_box, steps), [&](Offset, Offset at) {
      marks.take(at, rows.length(), [&](Offset, Count run) { elements += run; });
    });
  }
  return elements;
}

Visible visible_parts(const std::vector<Overlap>& overlaps, const std::vector<Count>& box,
                      Count sum) {
  Visible seen;
  const bool apart = overlaps.size() <= few && all_apart(overlaps);
  seen.elements = apart ? sum : marked(overlaps, box);
  if (seen.elements == sum)
    take_all(overlaps, seen);
  else if (overlaps.size() > most_cut)
    seen.too_many = true;
  else
    take_visible(overlaps, seen);
  return seen;
}

}  // namespace forebay::process_group
