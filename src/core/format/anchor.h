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

/// Anchors of layouts that this build lacks, in a schema from which all its layouts have taken over
/// theirs. A layout NAME gives each anchor an attribute __NAME_dims, and the header an attribute
/// __NAME or __NAME_*. The schema outlives this.
class UnknownAnchors {
 public:
  explicit UnknownAnchors(const Schema& schema);
  /// Returns the attribute by which a variable is such an anchor, or null.
  const Attribute* mark_of(const Variable& var) const;
  /// Returns why the values of a variable cannot be read, if it is such an anchor.
  std::optional<Error> refusal(const Variable& var) const;

 private:
  std::vector<std::string_view> names_;  // of the header, in order
};

/// Returns a scalar with the variable's name, type, attributes and place.
Variable anchor_of(const Variable& var);

/// Returns a copy of `from` without its variables. Keeps the attributes for which `keep` holds.
Schema without_variables(const Schema& from, bool (*keep)(std::string_view attribute));

}  // namespace forebay::anchors
