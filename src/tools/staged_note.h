// What commands tell of a file before they show it.
#pragma once

#include <string>

namespace forebay::tools {

/// To standard error: writes that a job staged for the file and that nobody will bring in, if there
/// are any (docs/burst.md).
void tell_staged_writes(const std::string& path);

}  // namespace forebay::tools
