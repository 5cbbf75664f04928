// Reads of values that do not lie where a rank could read them by itself.
#pragma once

#include "array/request.h"
#include "array/schema.h"
#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

/// Local. Reads what a request asks for through HDF5, a few MiB at a time.
void read_by_hdf5(Hdf5Values& values, const Variable& var, const StoredVariable& stored,
                  Request& request);

/// Local. Gives a request the fill value, for a variable that was never written.
void read_fill(const Variable& var, const StoredVariable& stored, Request& request);

}  // namespace forebay::netcdf4
