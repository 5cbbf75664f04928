// The generated C header, with its functions visible outside the library, and the checks that they
// share.
#pragma once

#include <mpi.h>

// The library hides its symbols by default; a definition has the visibility of its declaration.
#pragma GCC visibility push(default)
#include <pnetcdf.h>
#pragma GCC visibility pop

#include <type_traits>

#include "api/pnetcdf/files.h"
#include "base/attempt.h"
#include "base/last_message.h"
#include "dataset/dataset.h"

namespace forebay::pnetcdf {

/// Runs before a collective call does anything. `check` throws this rank's argument errors in
/// PnetCDF's order, and returns the arguments that all ranks must have alike. In safe mode all
/// ranks get the code of either; without it ranks may differ, and rank 0's definitions count.
template <typename F>
void check_call(Dataset& ds, const char* function, F&& check) {
  SharedArguments arguments;
  const auto mine = attempt_to([&] { arguments = check(); });
  ds.agree_on_call(function, mine, arguments);
}

/// Returns a variable. Errc::eglobal for NC_GLOBAL, Errc::enotvar.
const Variable& variable_of(const Dataset& ds, int varid);

/// Errc::eperm.
void check_writable(const Dataset& ds);

/// Errc::enotindefine.
void check_define_mode(const Dataset& ds);

}  // namespace forebay::pnetcdf
