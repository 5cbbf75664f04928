#pragma once

#include <string>

namespace forebay {

/// Returns the name of the machine that this process runs on, or "unknown".
std::string host_name();

}  // namespace forebay
