// JSON that the commands print. Members stay in the order in which they are added.
#pragma once

#include <nlohmann/json.hpp>

namespace forebay::tools {

using Json = nlohmann::ordered_json;

/// To standard output, indented, and the end of a line. Bytes that are not UTF-8 are replaced.
void print_json(const Json& json);

}  // namespace forebay::tools
