// The types of groups as BP has them, and back.
#pragma once

#include <type_traits>

#include "array/group_type.h"
#include "format/bp.h"
#include "method/groups.h"

namespace forebay {

bp::Type bp_type(GroupType type);
/// Errc::enotsupport for long double, which groups do not have.
GroupType group_type(bp::Type type);
/// A list of numbers is as its definition had it.
bp::Attribute bp_attribute(const GroupAttribute& from);

/// Calls f(T{}) with the C++ type of an integer; of others nothing.
template <typename F>
void with_integer(GroupType type, F&& f) {
  if (is_integer(type))
    bp::with_number(bp_type(type), [&](auto kind) {
      if constexpr (std::is_integral_v<decltype(kind)> && !std::is_same_v<decltype(kind), char>)
        f(kind);
    });
}

}  // namespace forebay
