// Types of variables in groups (Lofstead et al. 2009, §III.A), with complex numbers and strings.
#pragma once

#include <optional>
#include <string_view>

#include "array/type.h"
#include "base/types.h"

namespace forebay {

enum class GroupType {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  complex64,   ///< two float32
  complex128,  ///< two float64
  text,        ///< a character
  string       ///< of any length; a scalar
};

/// Returns the type of a lower-case name: one of Lofstead et al. 2009 ("integer", "double complex",
/// "unsigned long") or one of C with its width ("int32", "uint64").
std::optional<GroupType> group_type(std::string_view name);
/// name_of() returns the printed name; group_type_names() lists the names that group_type() knows.
const char* name_of(GroupType type);
const char* group_type_names();

/// Returns the bytes of an element in memory; 0 for strings.
Count size_of(GroupType type);
bool is_integer(GroupType type);
/// Returns the engine's type of the same form; none for complex numbers and strings.
Type to_engine(GroupType type);

}  // namespace forebay
