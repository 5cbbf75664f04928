// Conversion between the types of groups and of BP.
#pragma once

#include <type_traits>

#include "array/group_type.h"
#include "groups/format/bp.h"
#include "method/groups.h"

namespace forebay {

bp::Type bp_type(GroupType type);
/// Errc::enotsupport: long double, which groups do not have.
GroupType group_type(bp::Type type);
/// The text of numbers was checked when the attribute was defined.
bp::Attribute to_bp_attribute(const GroupAttribute& from);

/// Calls f(T{}) with the C++ type of an integer type; does nothing for other types.
template <typename F>
void with_integer(GroupType type, F&& f) {
  if (is_integer(type))
    bp::with_number(bp_type(type), [&](auto kind) {
      if constexpr (std::is_integral_v<decltype(kind)> && !std::is_same_v<decltype(kind), char>)
        f(kind);
    });
}

}  // namespace forebay
