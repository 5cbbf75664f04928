// Helpers shared by the files that implement Dataset.
#pragma once

#include <new>
#include <optional>

#include "base/error.h"
#include "data/schema.h"

namespace forebay {

/// Calls f() and returns the Error it throws, if any: for steps whose failure is agreed on later.
template <typename F>
std::optional<Error> attempt_to(F&& f) {
  try {
    f();
    return std::nullopt;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(Errc::enomem, "out of memory");
  }
}

/// The variable's _FillValue if it is one value of the type that is asked for, else null.
inline const Attribute* own_fill_value(const Variable& var, Type type) {
  const auto i = var.attributes.find("_FillValue");
  if (!i) return nullptr;
  const Attribute& a = var.attributes[*i];
  return a.type == type && a.count == 1 ? &a : nullptr;
}

}  // namespace forebay
