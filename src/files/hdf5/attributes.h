// Attributes of HDF5 objects in the terms of the classic formats, both ways, and those that
// netCDF-4 keeps for itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "files/hdf5/handle.h"

namespace forebay {

/// An attribute as read. `refused`: why the classic formats cannot hold it; empty if they can.
struct ReadAttribute {
  Attribute attribute;
  std::string refused;
  bool string_list = false;  ///< refused for being one of a length other than 1
};

/// Numbers, and text: a string of any kind, if there is one alone. Throws for damage.
ReadAttribute read_attribute(hid_t object, const std::string& name);

/// The values of an attribute that is a list of strings.
std::vector<std::string> read_string_list(hid_t object, const std::string& name);

/// As netCDF-C writes it: text as one string of fixed length, numbers as a list.
void write_attribute(hid_t object, const Attribute& attribute);
/// One string of fixed length; nothing but a null dataspace for an empty text.
void write_text_attribute(hid_t object, const std::string& name, const std::string& text);
/// int32 values: one alone as a scalar if `scalar`.
void write_integers(hid_t object, const std::string& name, const std::vector<int>& values,
                    bool scalar);

/// The values of an integer attribute; nothing where there is none of that kind.
std::vector<int> integer_attribute_list(hid_t object, const std::string& name);
std::optional<int> integer_attribute(hid_t object, const std::string& name);

/// Attributes by which dimension scales and netCDF-4 work; users never see them.
bool is_reserved_in_dataset(const std::string& name, bool scale);
bool is_reserved_in_root(const std::string& name);

/// Whether a dataset is a dimension scale; one that stands for a dimension alone, not a variable.
bool is_scale(hid_t dataset);
bool is_dimension_only(hid_t dataset);

/// What NAME begins with in a scale that is no variable.
constexpr const char* dimension_only_text = "This is a netCDF dimension but not a netCDF variable.";

}  // namespace forebay
