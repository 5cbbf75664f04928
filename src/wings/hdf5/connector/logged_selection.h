// HDF5's selections in the form of the log layout: patterns of a file's elements, runs of memory.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {

/// The elements that a dataset transfer selects in the file.
struct FileSelection {
  Count elements = 0;  ///< in the program; points may repeat
  /// Has no pattern if nothing is selected.
  Placed placed;
  /// For points in an order of their own: the program's k-th element is the pattern's element
  /// order[k]. Empty: the orders are equal.
  std::vector<Count> order;
};

/// Returns the selection of `space` in an array of these extents. Errc::einvalcoords: it lies
/// outside.
FileSelection file_selection(hid_t space, std::span<const Count> extents);

/// The resolved selections of one transfer: H5S_ALL means the other selection, or everything.
struct LoggedTransfer {
  FileSelection file;
  hid_t memory_space;
  Hdf5Id own;  ///< the space, if the program gave none
};
/// Returns the selections of a transfer of a dataset with these extents, whose dataspace
/// `make_space` makes. Errors are those of H5Dwrite and H5Dread.
LoggedTransfer resolve_transfer(const std::vector<Count>& extents,
                                const std::function<Hdf5Id()>& make_space, hid_t memory_space,
                                hid_t file_space, const void* buffer);

/// Sorts elements from the program's order into the pattern's (FileSelection::order). If a point
/// occurs twice, the last one counts.
void put_in_order(std::span<const std::byte> given, std::span<const Count> order, std::size_t size,
                  std::span<std::byte> out);

/// Walks through a selection in its order, as offsets and lengths in elements.
class SelectionRuns {
 public:
  explicit SelectionRuns(hid_t space);
  /// Returns the next runs, of at most `elements` elements in all; empty at the end.
  std::span<const Run> next(Count elements);

 private:
  static constexpr std::size_t batch = 1024;
  Hdf5Id iterator_;
  std::vector<std::size_t> lengths_;
  std::vector<hsize_t> offsets_;
  std::vector<Run> runs_;
};

/// Returns the first element of a selection whose elements are contiguous in memory; -1 for others.
Offset contiguous_begin(hid_t space, Count elements);

}  // namespace forebay::vol
