#include "decomposed/selected.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "format/pattern_bytes.h"

namespace forebay::decomposed {
namespace {

constexpr std::size_t most_known = 64;  // lists, and boxes

Count bytes_of(const Selected& what) {
  return static_cast<Count>(sizeof what + what.pattern.runs.size() * sizeof(PatternRun) +
                            what.gather.size() * sizeof(Gathered));
}

/// Returns how many runs each index of the first dimension has, if all have the same; else 0.
std::size_t runs_of_an_index(const std::vector<PatternRun>& runs, Count inside) {
  const Offset begin = runs.front().offset / inside * inside;
  std::size_t each = 0;
  while (each < runs.size() && runs[each].offset < begin + inside) ++each;
  if (each == runs.size() || runs.size() % each != 0) return 0;
  if (runs[each - 1].end() > begin + inside) return 0;
  Offset behind = 0;
  for (std::size_t i = each; i < runs.size(); i += each) {
    behind += inside;
    for (std::size_t k = 0; k < each; ++k)
      if (runs[i + k].offset != runs[k].offset + behind || runs[i + k].length != runs[k].length)
        return 0;
  }
  return each;
}

/// Disjoint runs of one record, in elements, with their places in memory.
struct RecordRuns {
  Count record;
  std::vector<Run> runs;
  std::vector<Count> memory;
};

/// Splits a list by record. If runs of a read overlap, runs that begin inside others form
/// additional entries of the record.
std::vector<RecordRuns> records_of(const Runs& selection, Count width, Count inner) {
  const RunList& list = *selection.list;
  std::vector<RecordRuns> records;
  std::size_t first = 0;  // of the current record
  Count position = 0;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(width));  // 1, 2, 4 or 8
  Count record = 0, begin = 0;  // of the last run, since divisions are as slow as all the rest
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    Count memory = (list.memory.empty() ? position : list.memory[i]) >> shift;
    position += list.runs[i].length;
    Offset at = (selection.base + list.runs[i].offset) >> shift;
    Count left = list.runs[i].length >> shift;
    while (left > 0) {
      if (at < begin || at - begin >= inner) record = at / inner, begin = record * inner;
      const Count within = at - begin, count = std::min(left, inner - within);
      // The record may be one lower again, if an overlapping run reached into the next record.
      while (first > 0 && records[first - 1].record >= record) --first;
      std::size_t r = first;
      while (r < records.size() &&
             (records[r].record != record ||
              records[r].runs.back().offset + records[r].runs.back().length > within))
        ++r;
      if (r == records.size()) {
        if (records.empty() || records.back().record < record) first = r;
        records.push_back({record, {}, {}});
        if (r == 0) {
          records[r].runs.reserve(list.runs.size());
          records[r].memory.reserve(list.runs.size());
        }
      }
      records[r].runs.push_back({within, count});
      records[r].memory.push_back(memory);
      at += count, memory += count, left -= count;
    }
  }
  return records;
}

}  // namespace

Pattern factored(std::span<const Count> inner, std::span<const Run> runs) {
  Pattern pattern;
  pattern.inner.assign(inner.begin(), inner.end());
  pattern.runs.reserve(runs.size());
  for (const Run& run : runs) append_run(pattern.runs, run.offset, run.length);
  if (inner.size() < 2) return pattern;
  const Count inside = pattern.below(2);
  const std::size_t each = runs_of_an_index(pattern.runs, inside);
  if (each == 0) return pattern;
  const Offset first = pattern.runs.front().offset / inside;
  pattern.outer = {{0, 1, 1}, {first, static_cast<Count>(pattern.runs.size() / each), 1}};
  pattern.runs.resize(each);
  for (PatternRun& run : pattern.runs) run.offset -= first * inside;
  return pattern;
}

Count runs_of(const Pattern& pattern) {
  auto runs = static_cast<Count>(pattern.runs.size());
  for (const Steps& s : pattern.outer)
    if (!multiply_fits(runs, s.count, runs)) return INT64_MAX;
  return runs;
}

std::vector<Count> inner_extents(const Variable& var) {
  return {var.shape.begin() + (var.is_record ? 1 : 0), var.shape.end()};
}

std::shared_ptr<const Selected> make_selected(Pattern pattern, std::vector<Gathered> gather) {
  auto what = std::make_shared<Selected>();
  what->elements = pattern.elements();
  const auto printed = logged::print_pattern(pattern);
  const XXH128_hash_t hash = XXH3_128bits(printed.data(), printed.size());
  what->key = {hash.low64, hash.high64};
  what->pattern = std::move(pattern);
  what->gather = std::move(gather);
  return what;
}

// Cuts the first dimension that has several indices, or the runs. Elements are in that order.
std::array<Part, 2> halves_of(const Part& part) {
  const Selected& whole = *part.what;
  Pattern a = whole.pattern, b = whole.pattern;
  std::size_t d = 0;
  while (d < a.outer.size() && a.outer[d].count == 1) ++d;
  if (d < a.outer.size()) {
    const Count half = a.outer[d].count / 2;
    a.outer[d].count = half;
    b.outer[d].start += half * b.outer[d].stride;
    b.outer[d].count -= half;
  } else {
    const Count half = whole.elements / 2;
    std::size_t i = 0;
    while (a.runs[i].position + a.runs[i].length <= half) ++i;
    const Count within = half - a.runs[i].position;
    a.runs.resize(i + (within > 0 ? 1 : 0));
    if (within > 0) a.runs.back().length = within;
    b.runs.erase(b.runs.begin(), b.runs.begin() + static_cast<std::ptrdiff_t>(i));
    b.runs.front().offset += within;
    b.runs.front().length -= within;
    Count position = 0;
    for (PatternRun& run : b.runs) run.position = std::exchange(position, position + run.length);
  }
  std::vector<Gathered> first, rest;
  const Count half = a.elements();
  for (const Gathered& g : whole.gather) {
    const Count before = std::clamp<Count>(half - g.position, 0, g.count);
    if (before > 0) first.push_back({g.position, g.memory, before});
    if (before < g.count)
      rest.push_back({g.position + before - half, g.memory + before, g.count - before});
  }
  const Count memory = part.memory + (whole.gather.empty() ? half : 0);
  return {Part{part.record, make_selected(std::move(a), std::move(first)), part.memory},
          Part{part.record, make_selected(std::move(b), std::move(rest)), memory}};
}

std::shared_ptr<const Selected> Selector::make(Pattern pattern, std::vector<Gathered> gather) {
  auto what = make_selected(std::move(pattern), std::move(gather));
  const auto same = by_key_.find(what->key);
  if (same != by_key_.end() && same->second->gather == what->gather &&
      same->second->pattern == what->pattern)
    return same->second;
  bytes_ += bytes_of(*what);
  if (by_key_.size() >= 16 * most_known) by_key_.clear();  // nothing is repeated
  by_key_[what->key] = what;
  return what;
}

void Selector::begin_operation() {
  if (bytes_ <= most_bytes_) return;
  bytes_ = 0;
  lists_.clear();
  boxes_.clear();
  by_key_.clear();
}

std::vector<Part> Selector::parts_of(const Request& request, const Variable& var) {
  if (const auto* box = std::get_if<Subarray>(&request.selection)) return parts_of_box(*box, var);
  return parts_of_runs(std::get<Runs>(request.selection), var);
}

std::vector<Part> Selector::parts_of_box(const Subarray& box, const Variable& var) {
  const std::size_t first = var.is_record ? 1 : 0, n = box.start.size();
  const auto stride = [&](std::size_t d) { return box.stride.empty() ? 1 : box.stride[d]; };
  std::vector<Count> numbers = inner_extents(var);
  for (std::size_t d = first; d < n; ++d)
    numbers.insert(numbers.end(), {box.start[d], box.count[d], stride(d)});
  auto known = std::find_if(boxes_.begin(), boxes_.end(),
                            [&](const KnownBox& b) { return b.numbers == numbers; });
  if (known != boxes_.end()) {
    std::rotate(known, known + 1, boxes_.end());
  } else {
    std::vector<Count> extents = {1};
    std::vector<Steps> steps = {{0, 1, 1}};
    for (std::size_t d = first; d < n; ++d) {
      extents.push_back(var.shape[d]);
      steps.push_back({box.start[d], box.count[d], stride(d)});
    }
    auto what = make(box_pattern(extents, steps).pattern, {});
    if (boxes_.size() == most_known) boxes_.erase(boxes_.begin());
    boxes_.push_back({std::move(numbers), std::move(what)});
  }
  const auto& what = boxes_.back().what;
  std::vector<Part> parts;
  const Count records = var.is_record ? box.count[0] : 1;
  for (Count i = 0; i < records; ++i)
    parts.push_back({var.is_record ? box.start[0] + i * stride(0) : 0, what, i * what->elements});
  return parts;
}

std::vector<Part> Selector::parts_of_runs(const Runs& runs, const Variable& var) {
  const Count inner = var.inner_bytes(), width = size_of(var.type);
  const Count base = var.is_record ? runs.base / inner : 0;
  ListKey key{runs.list.get(), width, runs.base - base * inner, inner, inner_extents(var)};
  auto known = std::find_if(lists_.begin(), lists_.end(),
                            [&](const KnownList& l) { return l.key == key && !l.list.expired(); });
  if (known != lists_.end()) {
    std::rotate(known, known + 1, lists_.end());
  } else {
    KnownList fresh{key, runs.list, {}};
    for (RecordRuns& r : records_of({runs.list, key.phase}, width, var.inner_elements)) {
      std::vector<Gathered> gather;
      const Count memory = r.memory.front();
      Count position = 0;
      for (std::size_t i = 0; i < r.runs.size(); ++i) {
        append_piece(gather, {position, r.memory[i] - memory, r.runs[i].length});
        position += r.runs[i].length;
      }
      if (gather.size() == 1) gather.clear();
      fresh.parts.push_back(
          {r.record, make(factored(key.extents, r.runs), std::move(gather)), memory});
    }
    if (lists_.size() == most_known) lists_.erase(lists_.begin());
    lists_.push_back(std::move(fresh));
  }
  std::vector<Part> parts = lists_.back().parts;
  for (Part& part : parts) part.record += base;
  return parts;
}

std::shared_ptr<const Selected> Selector::joined(std::span<const Part> parts, const Variable& var,
                                                 std::span<const Count> memory) {
  // The runs of all parts in the order of writing: later ones replace earlier ones.
  struct Placed {
    Run run;
    Count at;
  };
  std::vector<Placed> placed;
  Pattern whole;
  whole.inner = inner_extents(var);
  whole.runs = {{0, var.inner_elements, 0}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<Shared> pieces;  // places in the pattern and in the record
    intersect(parts[i].what->pattern, 0, whole, 0, [&](const SharedList& list) {
      for (const Shared& s : list.pieces) pieces.push_back({s.a + list.a, s.b + list.b, s.count});
    });
    for (const Shared& piece : pieces)
      placed.push_back({{piece.b, piece.count}, memory[i] + piece.a});
  }
  std::vector<Run> runs;
  std::vector<Offset> at;
  for (const Placed& p : placed) runs.push_back(p.run), at.push_back(p.at);
  const RunList list = sorted_run_list(std::move(runs), std::move(at), true);
  std::vector<Gathered> gather;
  Count position = 0;
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    const Count from = list.memory.empty() ? position : list.memory[i];
    append_piece(gather, {position, from, list.runs[i].length});
    position += list.runs[i].length;
  }
  return make(factored(inner_extents(var), list.runs), std::move(gather));
}

}  // namespace forebay::decomposed
