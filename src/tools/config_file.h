// A configuration file (method/config.h) from the command line.
#pragma once

#include <string>

#include "method/config.h"

namespace forebay::tools {

/// Errc::efile if it cannot be read; else like parse_config().
Config read_config(const std::string& path);

}  // namespace forebay::tools
