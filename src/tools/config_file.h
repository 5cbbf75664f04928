// A configuration file (method/config.h) that the command line names.
#pragma once

#include <string>

#include "method/config.h"

namespace forebay::tools {

/// Errc::efile where it cannot be read; else as parse_config().
Config read_config(const std::string& path);

}  // namespace forebay::tools
