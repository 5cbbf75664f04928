// The types of groups as BP has them, and back.
#pragma once

#include "array/group_type.h"
#include "format/bp.h"

namespace forebay {

bp::Type bp_type(GroupType type);
/// Errc::enotsupport for long double, which groups do not have.
GroupType group_type(bp::Type type);

}  // namespace forebay
