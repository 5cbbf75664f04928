// Anchors: how classic headers describe variables that are not stored as the format says. An anchor
// is a scalar variable with attributes whose names begin with two underscores. This file holds what
// all anchors share: those attributes, and the dimensions that the variable really has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/schema.h"
#include "base/error.h"

namespace forebay::anchors {

/// The attribute that explains anchors to people who see the file or a copy. Forebay ignores it.
inline constexpr const char* note_name = "__anchors";
Attribute note();

Attribute integers(const char* name, std::span<const std::int32_t> values);

const Attribute* find(const AttributeList& list, const char* name);
/// Returns nothing if there is no attribute of that name, or if it has another type.
std::optional<std::vector<std::int32_t>> integers_of(const AttributeList& list, const char* name);

/// Returns why a variable cannot have these dimensions; empty if it can.
std::string fault_of_dims(std::span<const std::int32_t> dims, const Schema& stored);

/// Returns why a variable's values cannot be read, in a schema from which all layouts of this build
/// have taken over their anchors: it is an anchor of another one. Such a layout NAME has an
/// attribute
/// __NAME_dims of each anchor, and an attribute of the header whose name begins with __NAME.
std::optional<Error> refusal_of_anchor(const Schema& schema, const Variable& var);

/// Returns a scalar with the variable's name, type, attributes and place.
Variable anchor_of(const Variable& var);

/// Returns a copy of `from` without its variables. Keeps the attributes for which `keep` holds.
Schema without_variables(const Schema& from, bool (*keep)(std::string_view attribute));

}  // namespace forebay::anchors
