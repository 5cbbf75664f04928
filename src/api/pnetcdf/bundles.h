// Bundles of this process: by name, for files whose method says so, and by number.
#pragma once

#include <memory>
#include <string>

#include "comm/comm.h"
#include "dataset/dataset.h"

namespace forebay::pnetcdf {

/// Collective, in place of a broadcast of rank 0's `mode`: before a file is opened or created. A
/// closed member of that name that waits is completed, with its bundle. Errc::eperm where it waits
/// in a bundle of other ranks.
int meet_before_opening(const Comm& comm, const char* path, int mode);

/// Collective, ends in a meeting. Makes a new file a member of the bundle that its method names, if
/// it does.
void join_bundle(Dataset& dataset);

/// Collective: what ncmpi_close and ncmpi_abort do with a file.
void close_file(std::unique_ptr<Dataset> dataset);
void abort_file(std::unique_ptr<Dataset> dataset);

/// Local. The file has been removed.
void forget_closed(const std::string& path);

}  // namespace forebay::pnetcdf
