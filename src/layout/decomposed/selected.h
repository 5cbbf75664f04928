// What a request selects of each record: a pattern, in the terms in which maps are stored, known
// again for whatever variable, type and record it is asked for.
//
// The record is taken out, and elements are counted, not bytes: so one pattern serves a float and a
// double, a variable with records and one without. Codes write hundreds of variables by a few
// decompositions; what was met before costs a look-up. The pool of run lists
// (array/run_list_pool.h) knows starts and counts by a hash before they are flattened, and hands
// out the same list for the same selection; here that list stands for its pattern.
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
#include "format/decomposed.h"

namespace forebay::decomposed {

/// Neighbouring elements of a pattern, and where the first of them is in the request's memory.
struct Gathered {
  Count position, memory, count;

  bool operator==(const Gathered&) const = default;
};

struct Selected {
  Pattern pattern;
  Count elements = 0;
  Key key;
  /// Where memory does not follow the pattern: by position. Empty where it does.
  std::vector<Gathered> gather;
};

/// One record of a request. The pattern's first element, or what `gather` counts from, is `memory`
/// elements behind the request's first.
struct Part {
  Count record = 0;
  std::shared_ptr<const Selected> what;
  Count memory = 0;
};

/// What a pattern is as something selected: its key is that of equal patterns everywhere.
std::shared_ptr<const Selected> make_selected(Pattern pattern, std::vector<Gathered> gather);

/// The first elements of a part, of several, and the rest; each has some.
std::array<Part, 2> halves_of(const Part& whole);

/// Calls f(memory, count) for where the elements [from, from + count) of a selection are in memory,
/// in elements, in their order.
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

/// The pattern of runs over the elements of one record, in increasing order and disjoint;
/// neighbours are joined. `inner`: extents of its dimensions. Leading indices that have the same
/// runs become a dimension of their own: levels times columns.
Pattern factored(std::span<const Count> inner, std::span<const Run> runs);

/// How many runs a pattern has in all indices of its leading steps; INT64_MAX: more than can be.
Count runs_of(const Pattern& pattern);
/// Calls f(position, element of the record, count) for each of them, in increasing order.
template <typename F>
void each_run(const Pattern& pattern, F&& f) {
  Pattern whole;
  whole.inner = pattern.inner;
  whole.runs = {{0, whole.below(1), 0}};
  intersect(pattern, 0, whole, 0, [&](const SharedList& list) {
    for (const Shared& s : list.pieces) f(list.a + s.a, list.b + s.b, s.count);
  });
}

/// The extents of one record's dimensions, or of all of a variable without records.
std::vector<Count> inner_extents(const Variable& var);

class Selector {
 public:
  /// What is known takes so many bytes at most, or is forgotten between operations.
  explicit Selector(Count most_bytes) : most_bytes_(most_bytes) {}

  /// The records of a request that is not empty, in order of memory; where a read asks for elements
  /// several times, in several parts. Holds until the next begin_operation().
  std::vector<Part> parts_of(const Request& request, const Variable& var);
  void begin_operation();
  /// The pattern of all parts' elements together, whose data follow each other in that order: of
  /// what is there twice the last one counts. `memory`: where in that data each part begins.
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
    std::weak_ptr<const RunList> list;  // whoever uses it accounts for its memory
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
  std::vector<KnownList> lists_;  // the last one was met last
  std::vector<KnownBox> boxes_;
  std::map<Key, std::shared_ptr<const Selected>> by_key_;
};

}  // namespace forebay::decomposed
