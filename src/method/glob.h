// Name patterns of the configuration file: '*' any characters, '?' one character, '[abc]', '[a-z]',
// '[!abc]' one character of (or not of) a set. A special character stands for itself inside a set:
// '[*]'. POSIX fnmatch does the matching.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// What is wrong with a pattern, in words; nothing if it can be used.
std::optional<std::string> glob_fault(std::string_view pattern);

/// True if the whole of `name` matches. In neither '*', '?' nor sets match '/'. The pattern must
/// have no fault.
bool glob_match(std::string_view pattern, std::string_view name);

/// Matches a file: a pattern without '/' is for the last component of the path, one that begins
/// with '/' for the whole path, any other for as many last components as it has itself.
bool glob_match_path(std::string_view pattern, std::string_view path);

}  // namespace forebay
