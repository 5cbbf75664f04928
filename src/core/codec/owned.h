// Owners of objects that C libraries allocate.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace forebay {

template <auto release>
struct FreedBy {
  template <typename T>
  void operator()(T* made) const {
    release(made);
  }
};
template <typename T, auto release>
using Owned = std::unique_ptr<T, FreedBy<release>>;

/// Takes ownership of an object; Errc::enomem, naming the library, if it is null.
template <typename Owner>
Owner made_or_no_memory(typename Owner::pointer made, const char* library) {
  if (made == nullptr) throw Error(Errc::enomem, std::string("no memory to run ") + library);
  return Owner(made);
}

}  // namespace forebay
