// Name patterns of the configuration file: '*' stands for any characters, '?' for one character,
// '[abc]', '[a-z]' and '[!abc]' for one character of (or not of) a set. A special character inside
// a set stands for itself: '[*]'. POSIX fnmatch does the matching.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Says what is wrong with a pattern; nothing if it is valid.
std::optional<std::string> glob_fault(std::string_view pattern);

/// Returns whether a pattern may match more than one name.
inline bool has_wildcards(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

/// Returns whether the whole of `name` matches. '*', '?' and sets never match '/'. The pattern must
/// be valid.
bool glob_match(std::string_view pattern, std::string_view name);

/// Matches a path. A pattern without '/' applies to the last component, one that begins with '/' to
/// the whole path, any other to as many last components as it has itself.
bool glob_match_path(std::string_view pattern, std::string_view path);

}  // namespace forebay
