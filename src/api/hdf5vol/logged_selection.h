// HDF5's selections as the log layout has them: patterns of a file's elements, runs of memory.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"
#include "hdf5/id.h"

namespace forebay::vol {

/// What a dataset transfer selects in the file.
struct FileSelection {
  Count elements = 0;  ///< in the program's order; points may repeat
  /// Nothing selected: no pattern.
  Placed placed;
  /// Points in an order of their own: the k-th element of the program is element order[k] of the
  /// pattern. Empty: the same order.
  std::vector<Count> order;
};

/// The selection of `space` in an array of these extents. Errc::einvalcoords where it lies outside.
FileSelection file_selection(hid_t space, std::span<const Count> extents);

/// Steps through a selection in its order, as offsets and lengths in elements.
class SelectionRuns {
 public:
  explicit SelectionRuns(hid_t space);
  /// The next runs, of at most `elements` elements together; empty at the end.
  std::span<const Run> next(Count elements);

 private:
  static constexpr std::size_t batch = 1024;
  Hdf5Id iterator_;
  std::vector<std::size_t> lengths_;
  std::vector<hsize_t> offsets_;
  std::vector<Run> runs_;
};

/// The first element of a selection whose elements are neighbours in memory; -1 for others.
Offset contiguous_begin(hid_t space, Count elements);

}  // namespace forebay::vol
