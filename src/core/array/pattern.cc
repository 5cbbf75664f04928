#include "array/pattern.h"

#include <algorithm>

#include "base/error.h"

namespace forebay {
namespace {

/// Joins the last outer dimension with the run if all inside it is selected, so that equal
/// selections have one normal form.
void join_whole(Pattern& pattern) {
  while (!pattern.outer.empty() && pattern.runs.size() == 1) {
    const Steps last = pattern.outer.back();
    const Count inside = pattern.below(pattern.outer.size());
    if (last.stride != 1 || pattern.runs[0].offset != 0 || pattern.runs[0].length != inside) return;
    pattern.runs[0] = {last.start * inside, last.count * inside, 0};
    pattern.outer.pop_back();
  }
}

/// Does the opposite as far as possible: a single run of whole indices becomes an outer dimension.
void split_whole(Pattern& pattern, std::size_t outer) {
  while (pattern.outer.size() < outer && pattern.runs.size() == 1) {
    const Count inside = pattern.below(pattern.outer.size() + 1);
    const PatternRun run = pattern.runs[0];
    if (run.offset % inside != 0 || run.length % inside != 0) return;
    pattern.outer.push_back({run.offset / inside, run.length / inside, 1});
    pattern.runs[0] = {0, inside, 0};
  }
}

/// A pattern in the form that intersecting needs: absolute coordinates, and as many outer
/// dimensions as the other has.
struct View {
  std::vector<Steps> outer;  // absolute
  std::span<const PatternRun> runs;
  Count per_index = 0;  // elements of one combination of outer indices
  Offset shift = 0;     // added to the runs' offsets
  std::vector<PatternRun> own;
};

/// Appends the runs of the outer dimensions from `keep` on and of the runs below them, flattened,
/// as far as they may meet [low, high).
void lower(const Pattern& pattern, std::size_t keep, Count base, Offset low, Offset high,
           std::vector<PatternRun>& out) {
  const std::size_t dims = pattern.outer.size();
  std::vector<Count> index(dims, 0), inside(dims), elements(dims);
  Count per = pattern.run_elements();
  for (std::size_t d = dims; d-- > keep;) {
    inside[d] = pattern.below(d + 1);
    elements[d] = per;
    per *= pattern.outer[d].count;
  }
  const auto start = [&](std::size_t d) { return pattern.outer[d].start + (d == 0 ? base : 0); };
  // Only the first of these dimensions is cut to the range: the others are within it.
  const Steps first = pattern.outer[keep];
  Count from = 0, to = first.count;
  const Count low_index = low / inside[keep] - start(keep), high_index = (high - 1) / inside[keep];
  if (low_index > 0) from = std::min(to, low_index / first.stride);
  if (high_index < start(keep)) return;
  to = std::min(to, (high_index - start(keep)) / first.stride + 1);
  if (from >= to) return;
  index[keep] = from;
  while (index[keep] < to) {
    Offset offset = 0;
    Count position = 0;
    for (std::size_t d = keep; d < dims; ++d) {
      offset += (start(d) + index[d] * pattern.outer[d].stride) * inside[d];
      position += index[d] * elements[d];
    }
    for (const PatternRun& run : pattern.runs)
      out.push_back({offset + run.offset, run.length, position + run.position});
    std::size_t d = dims - 1;
    while (++index[d] == pattern.outer[d].count && d > keep) index[d--] = 0;
  }
}

/// Returns the runs of a pattern made at other extents, flattened at those of `inner`. What lies
/// outside these is left out.
std::vector<PatternRun> refitted(const Pattern& pattern, Count base,
                                 const std::vector<Count>& inner) {
  std::vector<PatternRun> flat;
  Pattern whole = pattern;
  if (whole.outer.empty())
    flat = whole.runs;
  else
    lower(pattern, 0, base, 0, INT64_MAX, flat);
  const Count shift = pattern.outer.empty() ? base * pattern.below(1) : 0;
  const std::size_t n = inner.size();
  const Count row = n == 0 ? INT64_MAX : pattern.inner[n - 1];
  std::vector<PatternRun> out;
  for (const PatternRun& run : flat) {
    Offset at = run.offset + shift;
    Count left = run.length, position = run.position;
    while (left > 0) {
      const Count column = at % row, take = std::min(left, row - column);
      Offset rest = at / row, place = 0, scale = n == 0 ? 1 : inner[n - 1];
      bool within = true;
      for (std::size_t d = n - 1; n > 0 && d-- > 0;) {
        const Count c = rest % pattern.inner[d];
        rest /= pattern.inner[d];
        within &= c < inner[d];
        place += c * scale;
        scale *= inner[d];
      }
      place = n == 0 ? at : place + rest * scale + column;
      const Count keep = n == 0 ? take : std::clamp<Count>(inner[n - 1] - column, 0, take);
      if (within && keep > 0) out.push_back({place, keep, position});
      at += take, position += take, left -= take;
    }
  }
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  return out;
}

/// Returns where the runs of a view begin and end.
std::pair<Offset, Offset> range_of(const Pattern& pattern, Count base, std::size_t outer) {
  if (pattern.outer.size() == outer) {
    const Offset shift = outer == 0 ? base * pattern.below(1) : 0;
    return {shift + pattern.runs.front().offset, shift + pattern.runs.back().end()};
  }
  const Bounds bounds = bounds_of(pattern, base);
  if (outer == 0) return {bounds.first, bounds.last};
  const Steps& at = pattern.outer[outer];
  const Count inside = pattern.below(outer + 1);
  return {at.start * inside, (at.last() + 1) * inside};
}

View view_of(const Pattern& pattern, Count base, std::size_t outer, Offset low, Offset high) {
  View view;
  view.outer.assign(pattern.outer.begin(), pattern.outer.begin() + static_cast<long>(outer));
  if (outer > 0) view.outer[0].start += base;
  view.per_index = pattern.run_elements();
  if (pattern.outer.size() == outer) {
    view.runs = pattern.runs;
    if (outer == 0) view.shift = base * pattern.below(1);
    return view;
  }
  for (std::size_t d = outer; d < pattern.outer.size(); ++d)
    view.per_index *= pattern.outer[d].count;
  lower(pattern, outer, base, low, high, view.own);
  view.runs = view.own;
  return view;
}

/// Returns the index of the first run that ends after `offset`.
std::size_t first_after(std::span<const PatternRun> runs, std::size_t from, Offset offset) {
  return static_cast<std::size_t>(
      std::partition_point(runs.begin() + static_cast<long>(from), runs.end(),
                           [&](const PatternRun& run) { return run.end() <= offset; }) -
      runs.begin());
}

/// Returns the elements that two sorted lists of runs share. Gallops through the one that is ahead.
std::vector<Shared> shared_runs(const View& a, const View& b) {
  std::vector<Shared> out;
  const std::size_t na = a.runs.size(), nb = b.runs.size();
  // Searching pays if one list is much shorter.
  const bool search_a = na / 16 > nb, search_b = nb / 16 > na;
  for (std::size_t i = 0, j = 0; i < na && j < nb;) {
    const PatternRun &p = a.runs[i], &q = b.runs[j];
    const Offset p_begin = p.offset + a.shift, q_begin = q.offset + b.shift;
    const Offset begin = std::max(p_begin, q_begin);
    const Offset end = std::min(p_begin + p.length, q_begin + q.length);
    if (begin < end)
      append_piece(out, {p.position + begin - p_begin, q.position + begin - q_begin, end - begin});
    if (p_begin + p.length <= q_begin + q.length)
      i = search_a ? first_after(a.runs, i + 1, q_begin - a.shift) : i + 1;
    else
      j = search_b ? first_after(b.runs, j + 1, p_begin - b.shift) : j + 1;
  }
  return out;
}

/// Returns indices of equal coordinates: `count` from a and b on, one apart in both.
std::vector<Shared> shared_steps(const Steps& a, const Steps& b) {
  std::vector<Shared> out;
  if (a.stride == b.stride || a.count == 1 || b.count == 1) {
    const Count stride = a.count == 1 ? b.stride : a.stride;
    if ((b.start - a.start) % stride != 0) return out;
    const Count begin = std::max(a.start, b.start), end = std::min(a.last(), b.last());
    if (begin > end) return out;
    out.push_back(
        {(begin - a.start) / a.stride, (begin - b.start) / b.stride, (end - begin) / stride + 1});
    return out;
  }
  const bool a_shorter = a.count <= b.count;
  const Steps &few = a_shorter ? a : b, &many = a_shorter ? b : a;
  for (Count i = 0; i < few.count; ++i) {
    const Count at = few.start + i * few.stride - many.start;
    if (at < 0 || at % many.stride != 0 || at / many.stride >= many.count) continue;
    const Count other = at / many.stride;
    append_piece(out, {a_shorter ? i : other, a_shorter ? other : i, 1});
  }
  return out;
}

/// Visits the product of what outer dimensions share with what the runs share.
struct Product {
  std::vector<std::vector<Shared>> outer;
  std::vector<Count> per_a, per_b;  // elements of one index of each outer dimension
  std::span<const Shared> inside;
  const std::function<void(const SharedList&)>& visit;

  void walk(std::size_t d, Count a, Count b) const {
    if (d == outer.size()) {
      visit({inside, a, b});
      return;
    }
    for (const Shared& run : outer[d])
      for (Count i = 0; i < run.count; ++i)
        walk(d + 1, a + (run.a + i) * per_a[d], b + (run.b + i) * per_b[d]);
  }
};

void intersect_views(const View& a, const View& b,
                     const std::function<void(const SharedList&)>& visit) {
  std::vector<Shared> inside = shared_runs(a, b);
  if (inside.empty()) return;
  Product product{{}, {}, {}, {}, visit};
  const std::size_t dims = a.outer.size();
  product.per_a.resize(dims), product.per_b.resize(dims);
  Count per_a = a.per_index, per_b = b.per_index;
  for (std::size_t d = dims; d-- > 0;) {
    product.per_a[d] = per_a, product.per_b[d] = per_b;
    per_a *= a.outer[d].count, per_b *= b.outer[d].count;
    product.outer.push_back(shared_steps(a.outer[d], b.outer[d]));
    if (product.outer.back().empty()) return;
  }
  std::reverse(product.outer.begin(), product.outer.end());
  // If all of an index is shared by both, neighbouring indices are one piece.
  while (!product.outer.empty() && inside.size() == 1) {
    const std::size_t d = product.outer.size() - 1;
    const Shared whole = inside[0];
    if (whole.count != product.per_a[d] || whole.count != product.per_b[d]) break;
    inside.clear();
    for (const Shared& run : product.outer[d])
      inside.push_back({run.a * whole.count, run.b * whole.count, run.count * whole.count});
    product.outer.pop_back();
  }
  product.inside = inside;
  product.walk(0, 0, 0);
}

std::string text(Count n) { return std::to_string(n); }

}  // namespace

void append_run(std::vector<PatternRun>& runs, Offset offset, Count length) {
  if (!runs.empty() && runs.back().end() == offset) {
    runs.back().length += length;
    return;
  }
  const Count position = runs.empty() ? 0 : runs.back().position + runs.back().length;
  runs.push_back({offset, length, position});
}

Count Pattern::below(std::size_t d) const {
  Count product = 1;
  for (std::size_t i = d; i <= inner.size(); ++i) product *= inner[i - 1];
  return product;
}

Count Pattern::elements() const {
  Count product = run_elements();
  for (const Steps& steps : outer) product *= steps.count;
  return product;
}

Placed box_pattern(std::span<const Count> extents, std::span<const Steps> steps) {
  Placed placed{{}, steps[0].start};
  Pattern& pattern = placed.pattern;
  pattern.inner.assign(extents.begin() + 1, extents.end());
  pattern.outer.assign(steps.begin(), steps.end());
  pattern.outer[0].start = 0;
  for (Steps& s : pattern.outer)
    if (s.count == 1) s.stride = 1;
  pattern.runs = {{0, 1, 0}};
  join_whole(pattern);
  // A last dimension without gaps is a run, even if it is not whole.
  if (!pattern.outer.empty() && pattern.outer.size() == pattern.ndims() &&
      pattern.outer.back().stride == 1) {
    pattern.runs = {{pattern.outer.back().start, pattern.outer.back().count, 0}};
    pattern.outer.pop_back();
    join_whole(pattern);
  }
  return placed;
}

Placed box_pattern(std::span<const Count> extents, const Subarray& box) {
  std::vector<Steps> steps;
  for (std::size_t d = 0; d < extents.size(); ++d)
    steps.push_back({box.start[d], box.count[d], box.stride.empty() ? 1 : box.stride[d]});
  return box_pattern(extents, steps);
}

std::optional<Placed> blocks_pattern(std::span<const Count> extents,
                                     std::span<const std::uint64_t> blocks) {
  const std::size_t n = extents.size(), step = 2 * n, many = blocks.size() / step;
  const auto first = [&](std::size_t block, std::size_t d) {
    return static_cast<Count>(blocks[block * step + d]);
  };
  const auto last = [&](std::size_t block, std::size_t d) {
    return static_cast<Count>(blocks[block * step + n + d]);
  };
  std::size_t common = 0;
  for (; common < n; ++common) {
    bool same = true;
    for (std::size_t i = 1; i < many && same; ++i)
      same = first(i, common) == first(0, common) && last(i, common) == last(0, common);
    if (!same) break;
  }
  if (common == n) --common;  // a single block
  std::vector<Steps> outer;
  for (std::size_t d = 0; d < common; ++d)
    outer.push_back({first(0, d), last(0, d) - first(0, d) + 1, 1});
  // Only runs remain: beyond the first dimension that differs, everything must be selected.
  for (std::size_t d = common + 1; d < n; ++d)
    for (std::size_t i = 0; i < many; ++i)
      if (first(i, d) != 0 || last(i, d) != extents[d] - 1) return std::nullopt;

  Placed placed;
  Pattern& pattern = placed.pattern;
  pattern.inner.assign(extents.begin() + 1, extents.end());
  const Count inside = pattern.below(common + 1);
  pattern.runs.reserve(many);
  Offset end = 0;
  for (std::size_t i = 0; i < many; ++i) {
    const Offset offset = first(i, common) * inside;
    if (i > 0 && offset < end) return std::nullopt;
    end = (last(i, common) + 1) * inside;
    append_run(pattern.runs, offset, end - offset);
  }
  pattern.outer = std::move(outer);
  if (pattern.outer.empty()) {
    placed.base = pattern.runs[0].offset / pattern.below(1);
    for (PatternRun& run : pattern.runs) run.offset -= placed.base * pattern.below(1);
  } else {
    placed.base = pattern.outer[0].start;
    pattern.outer[0].start = 0;
  }
  join_whole(pattern);
  return placed;
}

Placed runs_pattern(std::span<const Count> extents, std::span<const Run> runs) {
  Placed placed;
  Pattern& pattern = placed.pattern;
  pattern.inner.assign(extents.begin() + 1, extents.end());
  const Count row = pattern.below(1);
  placed.base = runs[0].offset / row;
  pattern.runs.reserve(runs.size());
  for (const Run& run : runs) append_run(pattern.runs, run.offset - placed.base * row, run.length);
  return placed;
}

Bounds bounds_of(const Pattern& pattern, Count base) {
  Bounds bounds;
  const std::size_t n = pattern.ndims(), outer = pattern.outer.size();
  bounds.low.resize(n), bounds.high.resize(n);
  bounds.inner = pattern.inner;
  Offset first = 0, last = 0;
  for (std::size_t d = 0; d < outer; ++d) {
    const Count shift = d == 0 ? base : 0, inside = pattern.below(d + 1);
    bounds.low[d] = pattern.outer[d].start + shift;
    bounds.high[d] = pattern.outer[d].last() + shift + 1;
    first += bounds.low[d] * inside;
    last += (bounds.high[d] - 1) * inside;
  }
  const Offset shift = outer == 0 ? base * pattern.below(1) : 0;
  const Offset begin = shift + pattern.runs.front().offset, end = shift + pattern.runs.back().end();
  if (outer < n) {
    const Count inside = pattern.below(outer + 1);
    bounds.low[outer] = begin / inside;
    bounds.high[outer] = (end - 1) / inside + 1;
    for (std::size_t d = outer + 1; d < n; ++d)
      bounds.low[d] = 0, bounds.high[d] = pattern.inner[d - 1];
  }
  bounds.first = first + begin;
  bounds.last = last + end;
  return bounds;
}

void intersect(const Pattern& a, Count a_base, const Pattern& b, Count b_base,
               const std::function<void(const SharedList&)>& visit) {
  if (a.inner != b.inner) {
    View first, second;
    first.own = refitted(a, a_base, b.inner);
    first.runs = first.own;
    const Bounds bounds = bounds_of(b, b_base);
    second = view_of(b, b_base, 0, bounds.first, bounds.last);
    intersect_views(first, second, visit);
    return;
  }
  // The one with fewer outer dimensions is split as far as possible. The other is lowered to it.
  const Pattern *left = &a, *right = &b;
  Pattern split;
  Count left_base = a_base, right_base = b_base;
  if (a.outer.size() != b.outer.size()) {
    const bool left_fewer = a.outer.size() < b.outer.size();
    const Pattern& fewer = left_fewer ? a : b;
    const std::size_t wanted = std::max(a.outer.size(), b.outer.size());
    if (fewer.runs.size() == 1) {
      split = fewer;
      Count& base = left_fewer ? left_base : right_base;
      if (split.outer.empty()) {  // absolute, as the base may lie within an index
        split.runs[0].offset += base * split.below(1);
        base = 0;
      }
      split_whole(split, wanted);
      (left_fewer ? left : right) = &split;
    }
  }
  const std::size_t outer = std::min(left->outer.size(), right->outer.size());
  const auto [a_low, a_high] = range_of(*left, left_base, outer);
  const auto [b_low, b_high] = range_of(*right, right_base, outer);
  const Offset low = std::max(a_low, b_low), high = std::min(a_high, b_high);
  if (low >= high) return;
  intersect_views(view_of(*left, left_base, outer, low, high),
                  view_of(*right, right_base, outer, low, high), visit);
}

std::optional<std::string> fault_of(const Pattern& pattern) {
  const std::size_t n = pattern.ndims(), outer = pattern.outer.size();
  if (outer > n) return text(static_cast<Count>(n)) + " dimensions";
  Count total = 1;
  for (const Count extent : pattern.inner)
    if (extent < 1 || !multiply_fits(total, extent, total)) return "an extent of " + text(extent);
  Count elements = 1;
  for (std::size_t d = 0; d < outer; ++d) {
    const Steps& steps = pattern.outer[d];
    Count last = 0;
    if (steps.start < 0 || steps.count < 1 || steps.stride < 1 || (d == 0 && steps.start != 0) ||
        !multiply_fits(steps.count - 1, steps.stride, last) || !add_fits(last, steps.start, last) ||
        (d > 0 && last >= pattern.inner[d - 1]) || !multiply_fits(elements, steps.count, elements))
      return "steps of " + text(steps.start) + ", " + text(steps.count) + ", " +
             text(steps.stride) + " in dimension " + text(static_cast<Count>(d));
  }
  if (pattern.runs.empty()) return "no runs";
  const Count room = outer == 0 ? INT64_MAX : pattern.below(outer);
  Offset end = 0;
  Count sum = 0;
  for (const PatternRun& run : pattern.runs) {
    Offset next = 0;
    if (run.offset < end || run.length < 1 || !add_fits(run.offset, run.length, next) ||
        next > room || run.position != sum)
      return "a run of " + text(run.length) + " at " + text(run.offset);
    end = next;
    sum += run.length;
  }
  if (!multiply_fits(elements, sum, elements)) return text(sum) + " elements in runs";
  if (!base_fits(pattern, 0)) return "places beyond 63 bits";
  return std::nullopt;
}

bool base_fits(const Pattern& pattern, Count base) {
  const Count row = pattern.below(1);
  Count rows = 1, end = 0;
  if (!pattern.outer.empty())
    rows = pattern.outer[0].last() + 1;
  else
    rows = (pattern.runs.back().end() - 1) / row + 1;
  return base >= 0 && add_fits(base, rows, end) && multiply_fits(end, row, end);
}

}  // namespace forebay
