// What follows from where variables lie, and whether they can lie there: facts about a schema that
// both those who choose a placement (plan/begins) and those who read one (format/classic) need.
// Pure functions; cost: linear in the number of variables.
#pragma once

#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// Bytes from one record to the next: the sum of the record variables' vsizes, or the exact size of
/// one that is alone. 0 without record variables. Errc::evarsize when it leaves 63 bits.
Count record_size(const Schema& schema);

/// Errc::evarsize when a variable (or one record of it) is larger than the version allows: CDF-1
/// 2^31-4 bytes, CDF-2 2^32-4. One variable may be larger: the last fixed one if there are no
/// record variables, or the last record one.
void check_variable_sizes(const Schema& schema);

/// For a schema whose begins were read from a file of which header_size is known: sets
/// header_extent, begin_rec and recsize. Throws Errc::enotnc when a variable begins inside the
/// header, overlaps another, or ends (with all its records) beyond 63 bits, when the variables of
/// a section do not stand in the order of their definition, fixed before record ones, or when there
/// are gaps between record variables; Errc::evarsize as check_variable_sizes does.
void adopt_placement(Schema& schema);

/// Records that a file of `file_size` bytes holds completely, for a header that leaves their
/// number open. 0 without record variables.
Count records_in_file(const Schema& schema, Offset file_size);

}  // namespace forebay
