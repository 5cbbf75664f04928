// What a request selects of each record, as a pattern in the form in which maps are stored. An
// equal pattern is recognized for any variable, type and record.
//
// A pattern does not contain the record, and counts elements, not bytes. So one pattern serves a
// float and a double, and variables with and without records. Codes write hundreds of variables by
// a few decompositions, and a known selection costs one look-up. The pool of run lists
// (array/run_list_pool.h) recognizes starts and counts by a hash before they are flattened, and
// returns the same list for the same selection. Here that list stands for its pattern.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "array/request.h"
#include "array/schema.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

/// Neighbouring elements of a pattern, and the place of the first in the request's memory.
struct Gathered {
  Count position, memory, count;

  bool operator==(const Gathered&) const = default;
};

struct Selected {
  Pattern pattern;
  Count elements = 0;
  Key key;
  /// By position, if memory is in another order than the pattern; else empty.
  std::vector<Gathered> gather;
};

/// One record of a request. Its first element is `memory` elements after the request's first. That
/// is the pattern's first element, or where `gather` counts from.
struct Part {
  Count record = 0;
  std::shared_ptr<const Selected> what;
  Count memory = 0;
};

/// Makes a Selected of a pattern. Equal patterns have equal keys everywhere.
std::shared_ptr<const Selected> make_selected(Pattern pattern, std::vector<Gathered> gather);

/// Cuts a part of several elements into two, neither of them empty.
std::array<Part, 2> halves_of(const Part& whole);

/// Calls f(memory, count) for the memory of the elements [from, from + count) of a selection, in
/// their order. Both numbers are in elements.
template <typename F>
void each_in_memory(const Selected& what, Count from, Count count, F&& f) {
  if (what.gather.empty()) return f(from, count);
  auto at = std::upper_bound(what.gather.begin(), what.gather.end(), from,
                             [](Count p, const Gathered& g) { return p < g.position; });
  for (--at; count > 0; ++at) {
    const Count skip = from - at->position, now = std::min(count, at->count - skip);
    f(at->memory + skip, now);
    from += now, count -= now;
  }
}

/// Makes a pattern of runs over the elements of one record, which are in increasing order and
/// disjoint. Neighbours are joined. `inner` has the extents of the record's dimensions. Leading
/// indices with the same runs become a dimension of their own: levels times columns.
Pattern factored(std::span<const Count> inner, std::span<const Run> runs);

/// Returns the number of runs in all indices of a pattern's leading steps; INT64_MAX if too many.
Count runs_of(const Pattern& pattern);
/// Calls f(position, element of the record, count) for each run, in increasing order.
template <typename F>
void each_run(const Pattern& pattern, F&& f) {
  Pattern whole;
  whole.inner = pattern.inner;
  whole.runs = {{0, whole.below(1), 0}};
  intersect(pattern, 0, whole, 0, [&](const SharedList& list) {
    for (const Shared& s : list.pieces) f(list.a + s.a, list.b + s.b, s.count);
  });
}

/// Returns the extents of one record, or of a whole variable without records.
std::vector<Count> inner_extents(const Variable& var);

class Selector {
 public:
  /// The cache takes at most `most_bytes`, or is dropped between operations.
  explicit Selector(Count most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the records of a request that is not empty, in order of memory. A read that selects
  /// elements repeatedly gets several parts. Valid until the next begin_operation().
  std::vector<Part> parts_of(const Request& request, const Variable& var);
  void begin_operation();
  /// Returns the pattern of all parts' elements together. Their data follow each other in that
  /// order. If an element occurs twice, the last one counts. `memory` has where each part begins
  /// there.
  std::shared_ptr<const Selected> joined(std::span<const Part> parts, const Variable& var,
                                         std::span<const Count> memory);

 private:
  struct ListKey {
    const RunList* list;
    Count width, phase, inner;
    std::vector<Count> extents;
    bool operator==(const ListKey&) const = default;
  };
  struct KnownList {
    ListKey key;
    std::weak_ptr<const RunList> list;  // its users account for its memory
    std::vector<Part> parts;            // records from that of the list's base on
  };
  struct KnownBox {
    std::vector<Count> numbers;
    std::shared_ptr<const Selected> what;
  };

  std::vector<Part> parts_of_box(const Subarray& box, const Variable& var);
  std::vector<Part> parts_of_runs(const Runs& runs, const Variable& var);
  std::shared_ptr<const Selected> make(Pattern pattern, std::vector<Gathered> gather);

  Count most_bytes_, bytes_ = 0;
  std::vector<KnownList> lists_;  // the last used last
  std::vector<KnownBox> boxes_;
  std::map<Key, std::shared_ptr<const Selected>> by_key_;
};

}  // namespace forebay::decomposed
