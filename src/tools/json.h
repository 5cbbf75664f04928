// JSON for the commands' output. Members stay in the order in which they are added.
#pragma once

#include <nlohmann/json.hpp>

namespace forebay::tools {

using Json = nlohmann::ordered_json;

/// Prints indented JSON and a newline to standard output. Replaces bytes that are not UTF-8.
void print_json(const Json& json);

}  // namespace forebay::tools
