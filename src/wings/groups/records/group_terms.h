// Names of groups and BP files in netCDF's terms. Writers of a group as netCDF and readers of a BP
// file as netCDF use the same ones (docs/groups.md).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/schema.h"
#include "groups/format/bp.h"

namespace forebay::group_terms {

inline constexpr const char* step = "step";         ///< the record dimension
inline constexpr const char* rank = "rank";         ///< the dimension of numbers that each rank has
inline constexpr const char* complex = "complex";   ///< the last dimension of complex numbers
inline constexpr const char* as_it_is = "bp_name";  ///< the attribute with a name that has slashes

/// Returns a name without slashes, which netCDF does not allow.
std::string name_of(std::string name);
/// Returns the name from which a netCDF variable's name is made.
std::string name_as_it_is(const Variable& variable);
/// For a variable in which blocks of ranks follow one another along a dimension, in C's order:
/// these return the name of the variable that has each block's number of elements, and its
/// long_name.
std::string counts_of(const std::string& variable);
std::string counts_title(const std::string& variable, std::size_t dimension);
/// Splits an attribute NAME/REST: returns the longest variable name that it begins with, and the
/// rest. Returns nothing and the whole name if there is no such variable.
std::pair<std::string, std::string> owner_of(
    const std::string& attribute, const std::function<bool(const std::string&)>& is_variable);
/// These return the names of a dimension that is known only by its length, and of one along which
/// text lies.
std::string dimension(Count length);
std::string text_dimension(Count length);

/// Returns the netCDF type of one element; for complex numbers, of one part. none: strings and long
/// double.
Type element_of(bp::Type type);
/// Returns netCDF's fill value in the first bytes, twice for complex numbers; zeros for types
/// without one.
std::array<std::byte, 16> fill_of(bp::Type type);

Attribute number_attribute(std::string name, const std::vector<std::int64_t>& numbers);
/// Returns the attribute under another name; nullopt: netCDF has no such attribute.
std::optional<Attribute> attribute(std::string name, const bp::Attribute& from);

}  // namespace forebay::group_terms
