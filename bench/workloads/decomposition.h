#pragma once

// Decomposition maps: which process holds which elements of the decomposed (slowest first)
// dimensions of a variable. Maps were recorded on, or are generated for, `map ranks`; the ranks of
// a run take them over in blocks, as even as possible, so that any number of ranks can replay any
// map. Ranks beyond the number of map ranks hold nothing.
//
// A rank's elements are kept as runs (offset, length) in the flattened dimensions. For requests
// they are sorted, cut at the end of a row (the fastest dimension), and merged where they touch.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/pattern.h"

namespace forebay::bench {

/// The map ranks [first, last) that one rank replays.
struct MapShare {
  int first = 0;
  int last = 0;
};
MapShare share_of(int rank, int ranks, int map_ranks);

/// One rank's part of one map.
struct Decomposition {
  std::vector<std::int64_t> dims;  ///< lengths, slowest first
  std::vector<Run> runs;           ///< elements of this rank, in any order, without overlaps
};

/// Repeats `part` `tiles` times along dimension `axis`, which becomes `tiles` times as long: the
/// rank holds the same elements of every tile.
Decomposition tile(const Decomposition& part, int tiles, std::size_t axis);

/// Sorts runs by offset and cuts them where they cross the end of a row.
void sort_and_cut(Decomposition& part);

/// The arguments of one put_varn or get_varn call on a variable of `dims`, with or without a record
/// dimension before them.
class Pieces {
 public:
  Pieces() = default;
  /// `part` must be sorted and cut. With `merge`, runs that touch within a row become one piece.
  Pieces(const Decomposition& part, bool merge);

  int count() const { return static_cast<int>(record_starts_.size()); }
  std::int64_t elements() const { return elements_; }
  /// Runs in the order in which the pieces hold their elements.
  std::span<const Run> runs() const { return runs_; }

  /// Arrays of `count()` pointers; the record index is 0 until set_record() changes it for all
  /// pieces.
  MPI_Offset* const* record_starts() const { return record_starts_.data(); }
  MPI_Offset* const* record_counts() const { return record_counts_.data(); }
  MPI_Offset* const* fixed_starts() const { return fixed_starts_.data(); }
  MPI_Offset* const* fixed_counts() const { return fixed_counts_.data(); }
  void set_record(MPI_Offset record);

 private:
  std::vector<Run> runs_;
  std::int64_t elements_ = 0;
  std::vector<MPI_Offset> starts_, counts_;  // (1 + rank of the array) numbers a piece
  std::vector<MPI_Offset*> record_starts_, record_counts_, fixed_starts_, fixed_counts_;
};

}  // namespace forebay::bench
