// The output of `forebay info` for files that are not classic files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "files/source.h"

namespace forebay::tools {

/// Returns a JSON object: path, format, file_size, dimensions, variables, attributes, groups.
nlohmann::ordered_json source_info_json(const Source& source);

/// Returns format, sizes, dimensions, variables with their chunks and filters, and attributes. With
/// `all_attributes`, also those of variables and groups, in full.
std::string source_info_text(const Source& source, bool all_attributes);

/// Returns "1 × 180 × 360".
std::string product_text(const std::vector<Count>& lengths);

}  // namespace forebay::tools
