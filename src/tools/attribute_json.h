// Attributes as JSON, in the same form for all commands.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "array/schema.h"
#include "files/source.h"

namespace forebay::tools {

/// Returns {"name", "type", "value"}. The value is text without trailing NULs, or a list of
/// numbers, in which NaN and infinities are words.
nlohmann::ordered_json attribute_json(const Attribute& attribute);
nlohmann::ordered_json attributes_json(const AttributeList& attributes);

/// Returns what every command prints of a file: its dimensions, the variables `vars`, attributes,
/// groups, and what is left out. `add` adds a command's own members to a variable.
nlohmann::ordered_json source_json(
    const Source& source, const std::vector<VarId>& vars,
    const std::function<void(nlohmann::ordered_json& var, VarId id)>& add);
/// Returns the ids of all variables.
std::vector<VarId> all_variables(const Source& source);

/// Returns a number, or "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json json_number(double value);

}  // namespace forebay::tools
