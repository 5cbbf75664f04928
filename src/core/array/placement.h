// Facts about where variables lie, and whether they can lie there. Both choosing a placement
// (plan/classic_placement) and reading one (format/classic_header) need them. These are pure
// functions with a cost linear in the number of variables.
#pragma once

#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// Returns the bytes from one record to the next: the sum of the record variables' vsizes, or the
/// exact size of a single one; 0 without record variables. Throws Errc::evarsize beyond 63 bits.
Count record_size(const Schema& schema);

/// Throws Errc::evarsize if a variable (or one record of it) is larger than the version allows:
/// CDF-1 2^31-4 bytes, CDF-2 2^32-4. One variable may be larger: the last fixed one if there are no
/// record variables, or the last record one.
void check_variable_sizes(const Schema& schema);

/// Sets header_extent, begin_rec and recsize of a schema whose begins and header_size were read
/// from a file. Throws Errc::enotnc if a variable begins inside the header, overlaps another, or
/// ends (with all its records) beyond 63 bits; if the variables of a section are not in the order
/// of their definition, fixed before record ones; or if there are gaps between record variables.
/// Throws Errc::evarsize as check_variable_sizes does.
void adopt_placement(Schema& schema);

/// Returns the number of records that a file of `file_size` bytes holds completely, for a header
/// that leaves it open; 0 without record variables.
Count records_in_file(const Schema& schema, Offset file_size);

}  // namespace forebay
