#pragma once

// The library under test. Every workload is written against PnetCDF's C interface and compiled once
// for each library that offers it: the build decides which `pnetcdf.h` is found and which library
// is linked, and FOREBAY_BENCH_BACKEND names the result in reports.

#include <mpi.h>
#include <pnetcdf.h>

#include <stdexcept>
#include <string>

#ifndef FOREBAY_BENCH_BACKEND
#error "define FOREBAY_BENCH_BACKEND: the name of the library that this executable measures"
#endif

namespace forebay::bench {

inline constexpr const char* kBackendName = FOREBAY_BENCH_BACKEND;

/// Throws std::runtime_error with the library's own message if `status` is an error code.
/// `what` says what was attempted, for example the function and the variable.
inline void check(int status, const char* what) {
  if (status != NC_NOERR) {
    throw std::runtime_error(std::string(what) + ": " + ncmpi_strerror(status));
  }
}

}  // namespace forebay::bench
