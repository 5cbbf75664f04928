// From the arguments of a C call to an Access of the engine: all checks, once for all 900
// functions.
#pragma once

#include "api/pnetcdf/calls.h"
#include "data/request.h"

namespace forebay::pnetcdf {

/// Errc::eperm, eindefine, eindep, enotindep: what is wrong on all ranks if it is wrong on one, so
/// that a collective call may return without the others.
void check_mode(const Dataset& ds, Direction direction, Coordination coordination);

/// Errc::eglobal, enotvar; echar if `native` (Type::none: not known yet) does not convert.
const Variable& check_variable(const Dataset& ds, int varid, Type native);

/// Checks selection and memory, and describes them. `access.elements` is 0 for an empty request.
/// `queued`: a request whose bufcount is 0 is empty, whatever it selects.
Access make_access(Dataset& ds, int varid, Direction direction, const Selection& selection,
                   const Buffer& buffer, bool queued);

}  // namespace forebay::pnetcdf
