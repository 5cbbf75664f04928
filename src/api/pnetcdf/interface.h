// The generated C header, with its functions visible outside the library, and the guard that every
// one of them runs under.
#pragma once

#include <mpi.h>

// The library hides its symbols by default; a definition takes over what its declaration says.
#pragma GCC visibility push(default)
#include <pnetcdf.h>
#pragma GCC visibility pop

#include <type_traits>

#include "core/dataset.h"

namespace forebay::pnetcdf {

/// The code of the exception in flight, whose message is kept for forebay_error_message().
int code_of_current_exception() noexcept;

/// Runs the body of a C function. Exceptions become codes; a body may also return a code.
template <typename F>
int guard(F&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return NC_NOERR;
    } else {
      return body();
    }
  } catch (...) {
    return code_of_current_exception();
  }
}

/// The dataset behind an ID. Errc::ebadid.
Dataset& dataset(int ncid);

/// A variable. Errc::eglobal for NC_GLOBAL, Errc::enotvar.
const Variable& variable_of(const Dataset& ds, int varid);

/// A name passed by the caller: Errc::ebadname for null or empty, Errc::emaxname.
std::string name_argument(const char* name);

}  // namespace forebay::pnetcdf
