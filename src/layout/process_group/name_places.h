// Names of variables, as those who read groups give them: with "/" before them or without.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace forebay::process_group {

using NamePlaces = std::unordered_map<std::string, std::size_t>;

/// The place of a name. Errc::enotvar, with the name that may be meant; `path` is the file's.
std::size_t place_of(const NamePlaces& places, std::string_view name, const std::string& path);

}  // namespace forebay::process_group
