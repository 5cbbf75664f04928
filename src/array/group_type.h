// The element types of variables in groups (A §III.A): the engine's, complex numbers, and strings.
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

/// By the names of A ("integer", "double complex", "unsigned long") and by those of C with their
/// width ("int32", "uint64"), in lower case.
std::optional<GroupType> group_type(std::string_view name);
/// The name that is printed, and the names that group_type() knows, with commas between them.
const char* name_of(GroupType type);
const char* group_type_names();

/// Bytes of an element in memory; 0 for strings.
Count size_of(GroupType type);
bool is_integer(GroupType type);
/// The engine's type of the same form; none: complex numbers and strings.
Type to_engine(GroupType type);

}  // namespace forebay
