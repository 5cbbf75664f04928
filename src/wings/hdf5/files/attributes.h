// Converts attributes of HDF5 objects to and from those of the classic formats. Knows the
// attributes that netCDF-4 reserves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "hdf5/files/handle.h"

namespace forebay {

/// An attribute that was read. `refused` says why the classic formats cannot hold it; empty if they
/// can.
struct ReadAttribute {
  Attribute attribute;
  std::string refused;
  bool string_list = false;  ///< refused because it is a list of strings (not just one)
};

/// Reads numbers, or text: a single string of any kind. A name with the prefix by which files avoid
/// reserved names (base/netcdf4_names.h) is the name without it. Throws for damage.
ReadAttribute read_attribute(hid_t object, const std::string& name);

/// Returns the values of an attribute that is a list of strings.
std::vector<std::string> read_string_list(hid_t object, const std::string& name);

/// Returns the values of an integer attribute; nothing if there is no such attribute.
std::vector<int> integer_attribute_list(hid_t object, const std::string& name);
std::optional<int> integer_attribute(hid_t object, const std::string& name);

/// Attributes that dimension scales and netCDF-4 use. Users never see them.
bool is_reserved_in_dataset(const std::string& name, bool scale);
bool is_reserved_in_root(const std::string& name);

/// Whether a dataset is a dimension scale, and whether it is only a dimension, not a variable.
bool is_scale(hid_t dataset);
bool is_dimension_only(hid_t dataset);

/// The beginning of NAME in a scale that is not a variable.
constexpr const char* dimension_only_text = "This is a netCDF dimension but not a netCDF variable.";

}  // namespace forebay
