// Which elements of a variable a request touches, and in which order they stand in memory.
//
// Two forms cover every access kind of the netCDF interfaces:
//   Subarray  start, count, stride per dimension (var1, var, vara, vars, varm). It describes the
//             elements and is never flattened early.
//   RunList   sorted runs of the variable's elements (varn, vard), in bytes of the variable, record
//             after record. It is built once and shared by all requests that select the same
//             elements of equally shaped variables: codes write hundreds of variables by one
//             decomposition. The layout decides where elements lie in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/counts.h"
#include "array/schema.h"
#include "base/error.h"
#include "base/types.h"

namespace forebay {

/// A run of consecutive elements.
struct Run {
  Offset offset;  ///< bytes of the variable before it
  Count length;

  bool operator==(const Run&) const = default;
};

/// Runs in increasing order. Without `memory`, run i's data follows run i-1's in the buffer.
struct RunList {
  std::vector<Run> runs;
  std::vector<Offset> memory;  ///< buffer position of each run; empty if it is the running sum
  Count bytes = 0;             ///< sum of lengths
  bool overlapping = false;    ///< some runs overlap (reads only; writes are resolved when built)

  /// Requires that all runs have their places in `memory`. Adds a run that begins behind the last
  /// one's begin, or extends the last one if this one follows it in file and memory.
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
  /// Empties `memory` if it is the running sum.
  void drop_running_sum();
  /// Returns the memory of the list itself.
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
  Counts start, count, stride;

  /// Returns the product of `count`; 1 for a scalar.
  Count elements() const {
    Count product = 1;
    for (const Count c : count) product *= c;
    return product;
  }
};

/// Why a box does not lie in an array.
struct BoxFault {
  Errc code = Errc::ok;
  std::string what;  ///< with the dimension
};
/// Returns the first fault, if any. `box` has as many dimensions as the array. Errc::estride,
/// enegativecnt, einvalcoords (the start is outside) or eedge (beyond the end).
std::optional<BoxFault> fault_of(const Subarray& box, const std::vector<Count>& shape);

/// Cuts a box with several elements in two, along its first dimension with several indices. The
/// elements of the second box follow those of the first.
std::pair<Subarray, Subarray> halves_of(const Subarray& box);

/// What selections are checked against, besides the variable's shape.
struct SelectionLimits {
  Count records;  ///< for reads, the existing records; for writes, the possible ones: max_records
  bool strict;    ///< a start at the very end of a dimension is wrong even if the count is 0

  SelectionLimits(Count number_of_records, bool strict_start = false)
      : records(number_of_records), strict(strict_start) {}
};

/// Checks a selection against a variable. A null `count` means one element, a null `stride`
/// neighbours. Scalars have nothing to check. Throws Errc::einvalcoords for a start outside or
/// null, enegativecnt, eedge (also for a null count if `count_required`), estride, in the order in
/// which PnetCDF finds them.
void check_selection(const Variable& var, SelectionLimits limits, const Count* start,
                     const Count* count, const Count* stride, bool count_required = false);

/// Returns the largest number of records that a file of this version and record size can hold.
Count max_records(int version, Count bytes_per_record);

/// The pieces of one varn request: each of `num` starts and counts points to ndims values.
struct VarnPieces {
  int num = 0;
  const Count* const* starts = nullptr;
  const Count* const* counts = nullptr;  ///< null, also for a single piece: one element
};

/// What flatten_varn finds out on its way.
struct FlattenedVarn {
  Count elements = 0;      ///< in all pieces, overlapping ones counted each time
  Count last_record = 0;   ///< one past the highest record touched; 0 for fixed variables
  bool has_empty = false;  ///< a piece selects nothing
};

/// Checks the varn pieces of one variable (as check_selection does; Errc::enullstart for a null
/// start) and flattens them into runs. Runs that are neighbours both in the variable and in memory
/// are merged. With `resolve_overlaps` (for writes), the later piece wins where pieces overlap.
/// `list` is overwritten, its capacity reused. Costs O(pieces), and a sort if not in file order.
FlattenedVarn flatten_varn(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                           bool resolve_overlaps, RunList& list);

/// Sorts any runs into a RunList. `memory` has their buffer positions; empty: the running sum. With
/// `resolve_overlaps`, the run that is later in the buffer wins where runs overlap.
RunList sorted_run_list(std::vector<Run> runs, std::vector<Offset> memory, bool resolve_overlaps);

/// Returns a run list whose records are `to` bytes apart, for one whose records are `from` bytes
/// apart. Runs that span records are cut. `shift` is added to the offsets first.
std::shared_ptr<const RunList> rebased(const RunList& list, Count from, Count to, Offset shift = 0);

}  // namespace forebay
