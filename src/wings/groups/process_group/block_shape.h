// Checks a block's shape against its bytes.
#pragma once

#include "groups/format/bp.h"
#include "groups/process_group/name_catalogue.h"

namespace forebay::process_group {

/// Returns the kind of a block with `bytes` bytes. Errc::einval: invalid shape; enegativecnt;
/// eedge: the block exceeds its array; edimsize: the bytes do not match the number of elements.
Kind kind_of(const bp::Variable& variable, const bp::Shape& at, Count bytes);

/// Returns whether the block can be stored. One with only zero extents reads as a scalar. Local
/// arrays without elements are never stored, whatever their other extents.
bool leaves_a_trace(Kind kind, const bp::Shape& at);

}  // namespace forebay::process_group
