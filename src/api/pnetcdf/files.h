// The open files of this front end, also for functions that a wing adds to it (wings/*/api).
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "dataset/dataset.h"

namespace forebay::pnetcdf {

/// Returns the dataset of an ID. Errc::ebadid.
Dataset& dataset(int ncid);

/// Returns the IDs of all open files, in increasing order.
std::vector<int> open_files();

/// Takes an open file out of the table and frees its ID. Errc::ebadid.
std::unique_ptr<Dataset> remove_file(int ncid);

HintMap hints_of(MPI_Info info);

/// Returns a name from the caller. Errc::ebadname: null or empty; Errc::emaxname.
std::string name_argument(const char* name);

}  // namespace forebay::pnetcdf
