#include "hdf5/files/attributes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "array/convert.h"
#include "base/netcdf4_names.h"
#include "base/text_table.h"

namespace forebay {
namespace {

constexpr Count most_bytes = 64 << 20;  // of one attribute; real ones are far smaller

struct Opened {
  std::string what;  // for messages
  Hdf5Id attribute, type, space;
  Count elements = 0;
};

Opened open_attribute(hid_t object, const std::string& name) {
  Opened opened;
  const std::string& what = opened.what = "attribute " + printable(name);
  opened.attribute = owned(H5Aopen(object, name.c_str(), H5P_DEFAULT), what);
  opened.type = owned(H5Aget_type(opened.attribute), what);
  opened.space = owned(H5Aget_space(opened.attribute), what);
  opened.elements = static_cast<Count>(checked(H5Sget_simple_extent_npoints(opened.space), what));
  return opened;
}

void put_text(Attribute& attribute, const std::string& text) {
  attribute.type = Type::chr;
  attribute.count = std::ssize(text);
  attribute.value.resize(text.size());
  if (!text.empty()) std::memcpy(attribute.value.data(), text.data(), text.size());
}

std::string read_text(const Opened& from) {
  if (from.elements == 0) return {};
  if (H5Tis_variable_str(from.type) > 0) {
    char* text = nullptr;
    checked(H5Aread(from.attribute, from.type, &text), from.what);
    std::string copy = text == nullptr ? "" : text;
    H5Dvlen_reclaim(from.type, from.space, H5P_DEFAULT, &text);
    return copy;
  }
  std::string text(H5Tget_size(from.type), '\0');
  checked(H5Aread(from.attribute, from.type, text.data()), from.what);
  if (H5Tget_strpad(from.type) == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

bool text_attribute_begins(hid_t object, const char* name, std::string_view begin) {
  if (H5Aexists(object, name) <= 0) return false;
  const Opened opened = open_attribute(object, name);
  if (H5Tget_class(opened.type) != H5T_STRING || opened.elements != 1) return false;
  if (H5Tget_size(opened.type) > 4096) return false;
  return read_text(opened).starts_with(begin);
}

}  // namespace

ReadAttribute read_attribute(hid_t object, const std::string& name) {
  const Opened opened = open_attribute(object, name);
  ReadAttribute read;
  read.attribute.name = shown_from_netcdf4(name);
  Count bytes = 0;
  const auto width = static_cast<Count>(H5Tget_size(opened.type));
  if (!multiply_fits(opened.elements, width, bytes) || bytes > most_bytes) {
    read.refused = "an attribute of more than 64 MiB";
    return read;
  }
  if (H5Tget_class(opened.type) == H5T_STRING) {
    if (opened.elements > 1) {
      read.refused = "a list of strings";
      read.string_list = true;
    } else {
      put_text(read.attribute, read_text(opened));
    }
    return read;
  }
  const ElementType element = element_type(opened.type);
  if (!element.refused.empty()) {
    read.refused = element.refused;
    return read;
  }
  read.attribute.type = element.type;
  read.attribute.count = opened.elements;
  const auto size = static_cast<std::size_t>(opened.elements * size_of(element.type));
  std::vector<std::byte> native(size);
  if (size > 0) checked(H5Aread(opened.attribute, element.memory, native.data()), opened.what);
  read.attribute.value.resize(size);
  to_external(element.type, read.attribute.value.data(), element.type, native.data(),
              opened.elements, nullptr);
  return read;
}

std::vector<std::string> read_string_list(hid_t object, const std::string& name) {
  const Opened opened = open_attribute(object, name);
  const Hdf5Id memory = string_memory_type(opened.type);
  const auto n = static_cast<std::size_t>(opened.elements);
  std::vector<std::string> values;
  values.reserve(n);
  if (H5Tis_variable_str(opened.type) > 0) {
    std::vector<char*> texts(n, nullptr);
    checked(H5Aread(opened.attribute, memory, texts.data()), opened.what);
    for (const char* text : texts) values.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(memory, opened.space, H5P_DEFAULT, texts.data());
    return values;
  }
  const std::size_t width = H5Tget_size(opened.type);
  std::string all(n * width, '\0');
  checked(H5Aread(opened.attribute, memory, all.data()), opened.what);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view one = std::string_view(all).substr(i * width, width);
    values.emplace_back(one.substr(0, one.find_last_not_of('\0') + 1));
  }
  return values;
}

std::vector<int> integer_attribute_list(hid_t object, const std::string& name) {
  if (H5Aexists(object, name.c_str()) <= 0) return {};
  const Opened opened = open_attribute(object, name);
  if (H5Tget_class(opened.type) != H5T_INTEGER || opened.elements > H5S_MAX_RANK) return {};
  std::vector<int> values(static_cast<std::size_t>(opened.elements));
  if (!values.empty())
    checked(H5Aread(opened.attribute, H5T_NATIVE_INT, values.data()), opened.what);
  return values;
}

std::optional<int> integer_attribute(hid_t object, const std::string& name) {
  const std::vector<int> values = integer_attribute_list(object, name);
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

bool is_reserved_in_dataset(const std::string& name, bool scale) {
  if (scale && (name == "CLASS" || name == "NAME")) return true;
  constexpr std::array<std::string_view, 6> reserved = {"DIMENSION_LIST",      "REFERENCE_LIST",
                                                        "DIMENSION_LABELS",    "_Netcdf4Dimid",
                                                        "_Netcdf4Coordinates", "_nc3_strict"};
  return std::find(reserved.begin(), reserved.end(), name) != reserved.end();
}

bool is_reserved_in_root(const std::string& name) {
  return name == "_NCProperties" || name == "_nc3_strict";
}

bool is_scale(hid_t dataset) { return text_attribute_begins(dataset, "CLASS", "DIMENSION_SCALE"); }

bool is_dimension_only(hid_t dataset) {
  return text_attribute_begins(dataset, "NAME", dimension_only_text);
}

}  // namespace forebay
