#include "tools/coordinates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "array/convert.h"
#include "method/method_values.h"

namespace forebay::tools {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

Decoder::Decoder(const Schema& schema, VarId id) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  for (const char* name : {"_FillValue", "missing_value"}) {
    for (const double value : number_attribute(schema, id, name)) absent_.push_back(value);
  }
  if (!var.attributes.find("_FillValue") && size_of(var.type) > 1) {
    absent_.push_back(default_fill_of(var.type));
  }
  const auto scale = number_attribute(schema, id, "scale_factor");
  const auto offset = number_attribute(schema, id, "add_offset");
  if (!scale.empty()) scale_ = scale[0];
  if (!offset.empty()) offset_ = offset[0];
}

void Decoder::decode(std::vector<double>& values) const {
  for (double& value : values) {
    const bool absent = std::find(absent_.begin(), absent_.end(), value) != absent_.end();
    value = absent || !std::isfinite(value) ? nothing : value * scale_ + offset_;
  }
}

double Decoder::default_fill_of(Type type) {
  switch (type) {
    case Type::int16:
      return -32767;
    case Type::uint16:
      return 65535;
    case Type::int32:
      return -2147483647.0;
    case Type::uint32:
      return 4294967295.0;
    case Type::int64:
      return -9223372036854775806.0;
    case Type::uint64:
      return 18446744073709551614.0;
    default:
      return 9.9692099683868690e+36;  // the float's value, and the double's
  }
}

bool says_latitude(const Schema& schema, VarId id) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  const std::string units = text_attribute(schema, id, "units").value_or("");
  if (one_of(units, {"degrees_north", "degree_north", "degrees_N", "degree_N"})) return true;
  return one_of(lower_case(var.name), {"lat", "latitude", "latcell"}) && is_numeric(var.type);
}

bool says_longitude(const Schema& schema, VarId id) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  const std::string units = text_attribute(schema, id, "units").value_or("");
  if (one_of(units, {"degrees_east", "degree_east", "degrees_E", "degree_E"})) return true;
  return one_of(lower_case(var.name), {"lon", "long", "longitude", "loncell"}) &&
         is_numeric(var.type);
}

std::vector<double> doubles_of(const Source& file, VarId id, const Subarray& selection) {
  if (file.classic() != nullptr) return file.classic()->read_doubles(id, selection);
  const Type type = file.schema().vars[static_cast<std::size_t>(id)].type;
  const Count n = selection.elements();
  std::vector<std::byte> native(static_cast<std::size_t>(n * size_of(type)));
  std::vector<std::byte> external(native.size());
  std::vector<double> values(static_cast<std::size_t>(n));
  if (n > 0) file.read(id, selection, native.data());
  to_external(type, external.data(), type, native.data(), n, nullptr);
  from_external(type, external.data(), Type::float64, values.data(), n, nullptr);
  return values;
}

void make_degrees(const Schema& schema, VarId id, std::vector<double>& values) {
  Decoder(schema, id).decode(values);
  const std::string units = lower_case(text_attribute(schema, id, "units").value_or(""));
  const bool cells = lower_case(schema.vars[static_cast<std::size_t>(id)].name).ends_with("cell");
  if (units.starts_with("rad") || (units.empty() && cells)) {
    for (double& value : values) value *= 180 / std::numbers::pi;
  }
}

std::pair<double, double> range_of(const std::vector<double>& values) {
  double low = nothing, high = nothing;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    low = std::isnan(low) ? value : std::min(low, value);
    high = std::isnan(high) ? value : std::max(high, value);
  }
  return {low, high};
}

std::optional<std::string> fault_of(const std::vector<double>& latitude,
                                    const std::vector<double>& longitude) {
  const auto [south, north] = range_of(latitude);
  const auto [west, east] = range_of(longitude);
  if (std::isnan(south) || std::isnan(west)) return "hold nothing but fill values";
  if (south == north || west == east) return "are all the same";
  if (south < -90.001 || north > 90.001) return "are no latitudes and longitudes in degrees";
  if (west < -360.001 || east > 720.001) return "are no latitudes and longitudes in degrees";
  return std::nullopt;
}

}  // namespace forebay::tools
