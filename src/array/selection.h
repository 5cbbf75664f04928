// Which elements of a variable a request touches, and in which order they stand in memory.
//
// Two forms cover every access kind of the netCDF interfaces:
//   Subarray  start, count, stride per dimension (var1, var, vara, vars, varm): described, never
//             flattened early;
//   RunList   sorted runs of the variable's elements (varn, vard), counted in bytes of its own,
//             record after record: built once, shared by all requests that select the same
//             elements of equally shaped variables, since codes write hundreds of variables by one
//             decomposition. Where elements lie in a file is the layout's matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/schema.h"
#include "base/error.h"
#include "base/types.h"

namespace forebay {

/// A run of consecutive elements.
struct Run {
  Offset offset;  ///< bytes of the variable that lie before it
  Count length;

  bool operator==(const Run&) const = default;
};

/// Runs in increasing order. Without `memory`, run i's data follows run i-1's in the buffer.
struct RunList {
  std::vector<Run> runs;
  std::vector<Offset> memory;  ///< buffer position of each run; empty when it is the running sum
  Count bytes = 0;             ///< sum of lengths
  bool overlapping = false;    ///< some runs overlap (reads only; writes are resolved when built)

  /// While all have their places in `memory`: adds a run that begins behind the last one's begin,
  /// or lengthens the last one if this one follows it in file and memory.
  void append(const Run& run, Offset place) {
    bytes += run.length;
    if (!runs.empty() && runs.back().offset + runs.back().length == run.offset &&
        memory.back() + runs.back().length == place) {
      runs.back().length += run.length;
      return;
    }
    runs.push_back(run);
    memory.push_back(place);
  }
  /// Empties `memory` where it is the running sum.
  void drop_running_sum();
  /// What the list itself takes.
  Count memory_bytes() const {
    return static_cast<Count>(runs.size() * sizeof(Run) + memory.size() * sizeof(Offset));
  }
  bool operator==(const RunList&) const = default;
};

/// A run list at its place in a variable: the same list serves all records.
struct Runs {
  std::shared_ptr<const RunList> list;
  Offset base = 0;  ///< bytes of the variable before the list's first byte
};

/// start, count, stride of `ndims` dimensions, slowest first. `stride` empty means 1 everywhere.
struct Subarray {
  std::vector<Count> start, count, stride;

  /// The product of `count`; 1 for a scalar.
  Count elements() const;
};

/// Why a box does not lie in an array.
struct BoxFault {
  Errc code = Errc::ok;
  std::string what;  ///< with the dimension
};
/// The first one; nothing: it lies there. `box` has as many dimensions as the array. Errc::estride,
/// enegativecnt; einvalcoords: the start is outside; eedge: it goes beyond the end.
std::optional<BoxFault> fault_of(const Subarray& box, const std::vector<Count>& shape);

/// A box that has several elements in two, by its first dimension with several indices: the
/// elements of the second follow those of the first.
std::pair<Subarray, Subarray> halves_of(const Subarray& box);

/// What selections are checked against, beside the variable's shape.
struct SelectionLimits {
  Count records;  ///< for reads the records there are, for writes as many as can be: max_records
  bool strict;    ///< a start at the very end of a dimension is wrong even where the count is 0

  SelectionLimits(Count number_of_records, bool strict_start = false)
      : records(number_of_records), strict(strict_start) {}
};

/// Checks a selection against a variable. A null `count` means one element, a null `stride`
/// neighbours. Scalars have nothing to check. Errc::einvalcoords for a start outside or null,
/// enegativecnt, eedge (also a null count where `count_required`), estride, in the order in which
/// PnetCDF finds them.
void check_selection(const Variable& var, SelectionLimits limits, const Count* start,
                     const Count* count, const Count* stride, bool count_required = false);

/// The largest number of records a file of this version and record size can hold.
Count max_records(int version, Count bytes_per_record);

/// The pieces of one varn request: each of `num` starts and counts points to ndims values.
struct VarnPieces {
  int num = 0;
  const Count* const* starts = nullptr;
  const Count* const* counts = nullptr;  ///< null, also for a single piece: one element
};

/// What flatten_varn learnt on its way.
struct FlattenedVarn {
  Count elements = 0;      ///< in all pieces, overlapping ones counted each time
  Count last_record = 0;   ///< one past the highest record touched; 0 for fixed variables
  bool has_empty = false;  ///< a piece selects nothing
};

/// Checks varn pieces of one variable (as check_selection does; Errc::enullstart for a null start)
/// and flattens them into runs. Those that are neighbours both in the variable and in memory are
/// merged. With `resolve_overlaps` (for writes) the later piece wins where pieces overlap. `list`
/// is overwritten; its capacity is reused. O(pieces), plus a sort where they are not in file order.
FlattenedVarn flatten_varn(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                           bool resolve_overlaps, RunList& list);

/// Sorts arbitrary runs into a RunList. `memory` holds their buffer positions; empty: running sum.
/// With `resolve_overlaps`, the run that stands later in the buffer wins where runs overlap.
RunList sorted_run_list(std::vector<Run> runs, std::vector<Offset> memory, bool resolve_overlaps);

/// A run list whose records are `from` bytes apart, with records `to` bytes apart: runs that span
/// records are cut apart. `shift` is added to its offsets before.
std::shared_ptr<const RunList> rebased(const RunList& list, Count from, Count to, Offset shift = 0);

}  // namespace forebay
