// From the arguments of a C call to an Request of the engine: all checks, once for all 900
// functions.
#pragma once

#include "api/pnetcdf/calls.h"
#include "array/request.h"

namespace forebay::pnetcdf {

/// Errc::eperm, eindefine, eindep, enotindep: what is wrong on all ranks if it is wrong on one, so
/// that a collective call may return without the others.
void check_mode(const Dataset& ds, Direction direction, Coordination coordination);

/// Errc::eglobal, enotvar; echar if `native` (Type::none: not known yet) does not convert.
const Variable& check_variable(const Dataset& ds, int varid, Type native);

/// put_vard and get_vard. The file type counts from the variable's begin and may reach into the
/// variables and records that follow, if they have the same element type; what belongs to no
/// element of theirs is Errc::etypesize. One access for each stretch of memory that goes to one
/// variable, in the order of memory.
std::vector<Request> make_typed_requests(Dataset& ds, int varid, Direction direction,
                                         MPI_Datatype file_type, const Buffer& buffer);

/// Checks selection (other than a file type) and memory, and describes them. `elements` is 0
/// for an empty request. `queued`: a request whose bufcount is 0 is empty, whatever it selects.
Request make_request(Dataset& ds, int varid, Direction direction, const Selection& selection,
                     const Buffer& buffer, bool queued);

}  // namespace forebay::pnetcdf
