#pragma once

// The library under test, where a workload is written against PnetCDF's C interface: it is compiled
// once for each library that offers it, and the build decides which `pnetcdf.h` is found and which
// library is linked.

#include <mpi.h>
#include <pnetcdf.h>

#include <stdexcept>
#include <string>

namespace forebay::bench {

/// Throws std::runtime_error with the library's own message if `status` is an error code.
/// `what` says what was attempted, for example the function and the variable.
inline void check(int status, const char* what) {
  if (status != NC_NOERR) {
    throw std::runtime_error(std::string(what) + ": " + ncmpi_strerror(status));
  }
}

}  // namespace forebay::bench
