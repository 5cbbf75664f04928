#pragma once

// Selections of HDF5 that consist of very many boxes. Each H5Sselect_hyperslab with H5S_SELECT_OR
// goes over all of the selection that there is, so that n boxes one by one cost n² / 2 steps.

#include <mpi.h>

#include "backends/hdf5_handles.h"

namespace forebay::bench {

/// `count` boxes in an array of rank `rank`: box k has its first element at starts[k] and extends
/// over counts[k]. Without order; they must not overlap if their elements are to keep one each.
struct BoxList {
  int rank = 0;
  int count = 0;
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;
};

/// A dataspace of the extent of `extent` that selects the union of `boxes`, nothing if there are
/// none. Unions of neighbours are joined pairwise, n log n steps in all.
Hdf5Id select_union(hid_t extent, const BoxList& boxes);

}  // namespace forebay::bench
