// Anchors: how classic headers tell of variables that are stored otherwise than the format says.
// An anchor is a scalar variable with attributes whose names begin with two underscores; those
// attributes, and the dimensions that the variable really has, are what the encodings of anchors
// have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/schema.h"

namespace forebay::anchors {

Attribute integers(const char* name, std::span<const std::int32_t> values);

const Attribute* find(const AttributeList& list, const char* name);
/// Nothing where there is none of that name, or it has another type.
std::optional<std::vector<std::int32_t>> integers_of(const AttributeList& list, const char* name);

/// Why a variable cannot have these dimensions; empty: it can.
std::string fault_of_dims(std::span<const std::int32_t> dims, const Schema& stored);

/// A scalar with the variable's name, type, attributes and place.
Variable anchor_of(const Variable& var);

/// A schema without variables, but with all else that `from` has; of its attributes those for
/// which `keep` holds.
Schema without_variables(const Schema& from, bool (*keep)(std::string_view attribute));

}  // namespace forebay::anchors
