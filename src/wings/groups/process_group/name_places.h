// Finds variables by name, with or without "/" before it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace forebay::process_group {

using NamePlaces = std::unordered_map<std::string, std::size_t>;

/// Returns the place of a name. Errc::enotvar, which suggests a similar name; `path` is the file's.
std::size_t place_of(const NamePlaces& places, std::string_view name, const std::string& path);

}  // namespace forebay::process_group
