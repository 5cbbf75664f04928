// What `forebay info` tells of files that are no classic ones.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "files/source.h"

namespace forebay::tools {

/// The same as one JSON object: path, format, file_size, dimensions, variables, attributes, groups.
nlohmann::ordered_json source_info_json(const Source& source);

/// Format, sizes, dimensions, variables with their chunks and filters, attributes; with
/// `all_attributes` those of variables and groups too, in full.
std::string source_info_text(const Source& source, bool all_attributes);

/// "1 × 180 × 360"
std::string product_text(const std::vector<Count>& lengths);

}  // namespace forebay::tools
