// What a block's shape says, checked against its bytes.
#pragma once

#include "format/bp.h"
#include "layout/process_group/catalogue.h"

namespace forebay::process_group {

/// The kind of a block of so many bytes. Errors: Errc::einval, a shape that is none; enegativecnt;
/// eedge, a block that reaches out of its array; edimsize, bytes that are not those of its
/// elements.
Kind kind_of(const bp::Variable& variable, const bp::Shape& at, Count bytes);

/// Whether the block can stand in a file: one all of whose extents are zero reads as a scalar.
/// Local arrays without elements do not, whatever their other extents.
bool leaves_a_trace(Kind kind, const bp::Shape& at);

}  // namespace forebay::process_group
