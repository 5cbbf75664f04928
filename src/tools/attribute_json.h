// Attributes as JSON, alike in all commands.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "array/schema.h"
#include "files/source.h"

namespace forebay::tools {

/// {"name", "type", "value"}: text without trailing NULs, or a list of numbers, in which NaN and
/// infinities are words.
nlohmann::ordered_json attribute_json(const Attribute& attribute);
nlohmann::ordered_json attributes_json(const AttributeList& attributes);

/// Adds "groups" and "left_out" where a file has any.
void add_structure(nlohmann::ordered_json& json, const Source& source);

/// A number, or "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json json_number(double value);

}  // namespace forebay::tools
