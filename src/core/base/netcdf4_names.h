// Names of attributes that have a meaning of their own in netCDF-4 files. An attribute that a
// program calls so is stored there under another name.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace forebay {

inline bool is_netcdf4_name(std::string_view name) {
  constexpr std::array<std::string_view, 10> names = {
      "CLASS",         "NAME",        "DIMENSION_LIST",      "REFERENCE_LIST",   "_Netcdf4Dimid",
      "_NCProperties", "_nc3_strict", "_Netcdf4Coordinates", "DIMENSION_LABELS", "_NCCOPY"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

inline constexpr std::string_view netcdf4_prefix = "_nc4_att_";

/// Returns the name that an attribute of this name gets in a netCDF-4 file.
inline std::string stored_in_netcdf4(const std::string& name) {
  const bool taken = is_netcdf4_name(name) || name.starts_with(netcdf4_prefix);
  return taken ? std::string(netcdf4_prefix) + name : name;
}

/// Returns the name that stored_in_netcdf4() was given.
inline std::string shown_from_netcdf4(const std::string& stored) {
  if (!stored.starts_with(netcdf4_prefix)) return stored;
  std::string name = stored.substr(netcdf4_prefix.size());
  return stored_in_netcdf4(name) == stored ? name : stored;
}

}  // namespace forebay
