// The open files, for inquiries and bundles.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "dataset/dataset.h"

namespace forebay::pnetcdf {

/// Returns the IDs of all open files, in increasing order.
std::vector<int> open_files();

/// Takes an open file out of the table and frees its ID. Errc::ebadid.
std::unique_ptr<Dataset> remove_file(int ncid);

HintMap hints_of(MPI_Info info);

}  // namespace forebay::pnetcdf
