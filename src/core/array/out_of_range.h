// The error for a value that its target type cannot hold. It names the variable or attribute, the
// place of the value there, and the value.
#pragma once

#include <cstddef>

#include "array/request.h"
#include "array/schema.h"
#include "array/type.h"
#include "base/error.h"
#include "base/types.h"

namespace forebay {

/// The call of a conversion of `n` values that found one out of range (array/convert.h).
struct Conversion {
  bool writes;  ///< to_external; false: from_external
  Type external, memory;
  const std::byte* values;  ///< the input of the conversion
  Count n;
};

/// Returns Errc::erange for the first of the values that is out of range. The request's values are
/// in the order of its selection.
Error out_of_range(const Conversion& conversion, const Variable& var, const Request& request);
/// Returns the same for the values of an attribute.
Error out_of_range(const Conversion& conversion, const Attribute& attribute);

}  // namespace forebay
