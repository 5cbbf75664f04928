// Attributes as JSON, alike in all commands.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "array/schema.h"
#include "files/source.h"

namespace forebay::tools {

/// {"name", "type", "value"}: text without trailing NULs, or a list of numbers, in which NaN and
/// infinities are words.
nlohmann::ordered_json attribute_json(const Attribute& attribute);
nlohmann::ordered_json attributes_json(const AttributeList& attributes);

/// What every command tells of a file: its dimensions, some of its variables, attributes, groups,
/// and what is left out of it. `add` adds to a variable what is the command's own.
nlohmann::ordered_json source_json(
    const Source& source, const std::vector<VarId>& vars,
    const std::function<void(nlohmann::ordered_json& var, VarId id)>& add);
/// The ids of all variables.
std::vector<VarId> all_variables(const Source& source);

/// A number, or "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json json_number(double value);

}  // namespace forebay::tools
