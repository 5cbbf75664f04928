// For tests that go over parts which a build may have left out.
#pragma once

#include <algorithm>
#include <string>

#include "method/part.h"

namespace forebay {

/// Returns whether this build has all parts and keys of "key=value;key=value".
inline bool is_built(const std::string& hints) {
  const auto all = absent_names();
  return std::none_of(all.begin(), all.end(), [&](const AbsentName& name) {
    return (";" + hints + ";")
               .find(";" + std::string(name.key) + "=" +
                     (name.value.empty() ? "" : std::string(name.value) + ";")) !=
           std::string::npos;
  });
}

}  // namespace forebay
