// Turns the arguments of a C call into a Request of the engine, with all checks, for all 900
// functions.
#pragma once

#include "api/pnetcdf/typed_calls.h"
#include "array/request.h"

namespace forebay::pnetcdf {

/// Errc::eperm, eindefine, eindep, enotindep. These errors occur on all ranks or on none, so a
/// collective call may return at once.
void check_mode(const Dataset& ds, Direction direction, Coordination coordination);

/// Errc::eglobal, enotvar; echar if `native` (Type::none: not known yet) does not convert.
const Variable& check_variable(const Dataset& ds, int varid, Type native);

/// For put_vard and get_vard. The file type counts from the variable's begin. It may reach into
/// later variables and records that have the same element type; bytes that belong to no element of
/// theirs are Errc::etypesize. Returns one request for each stretch of memory that goes to one
/// variable, in the order of memory.
std::vector<Request> make_typed_requests(Dataset& ds, int varid, Direction direction,
                                         MPI_Datatype file_type, const Buffer& buffer);

/// Checks and describes the selection (other than a file type) and the memory. `elements` is 0 for
/// an empty request. `queued`: a request with bufcount 0 is empty, whatever it selects.
Request make_request(Dataset& ds, int varid, Direction direction, const Selection& selection,
                     const Buffer& buffer, bool queued);

}  // namespace forebay::pnetcdf
