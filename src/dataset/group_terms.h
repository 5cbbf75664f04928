// What groups and BP files have, in netCDF's terms: the same words for who writes a group as netCDF
// and for who reads a BP file as such (docs/groups.md).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array/schema.h"
#include "format/bp.h"

namespace forebay::group_terms {

inline constexpr const char* step = "step";         ///< the record dimension
inline constexpr const char* rank = "rank";         ///< the dimension of numbers of each rank
inline constexpr const char* complex = "complex";   ///< the last dimension of complex numbers
inline constexpr const char* as_it_is = "bp_name";  ///< the attribute with a name that has slashes

/// netCDF's names have no slash.
std::string name_of(std::string name);
/// The name of which a netCDF variable's is made.
std::string name_as_it_is(const Variable& variable);
/// Of a variable in which blocks of ranks follow one another along a dimension, in C's order: the
/// one that has their numbers of elements, and its long_name.
std::string counts_of(const std::string& variable);
std::string counts_title(const std::string& variable, std::size_t dimension);
/// Of an attribute NAME/REST that of the variable with the longest name that it begins with, and
/// the rest; of another one nothing, and all of it.
std::pair<std::string, std::string> owner_of(
    const std::string& attribute, const std::function<bool(const std::string&)>& is_variable);
/// Of a dimension that says no more than its length; of one that a text lies along.
std::string dimension(Count length);
std::string text_dimension(Count length);

/// Of complex numbers that of their parts; none: strings, and long double.
Type element_of(bp::Type type);

Attribute number_attribute(std::string name, const std::vector<std::int64_t>& numbers);
/// Under another name; nothing: netCDF has no such attribute.
std::optional<Attribute> attribute(std::string name, const bp::Attribute& from);

}  // namespace forebay::group_terms
