// The rules for names of dimensions, variables and attributes.
#pragma once

#include <string>
#include <string_view>

namespace forebay {

constexpr int max_name_bytes = 256;

/// Returns a name in the form in which names are stored and compared: Unicode's normal form C. Text
/// that is not UTF-8 comes back unchanged. Names made only of ASCII cost nothing.
std::string normalized_name(std::string_view name);

/// Checks a new name and returns its normal form. It must be UTF-8 of 1 to max_name_bytes bytes,
/// begin with a letter, digit, underscore or non-ASCII character, and have no control character, no
/// slash and no space at the end. Throws Errc::ebadname, Errc::emaxname.
std::string checked_name(std::string_view name);

}  // namespace forebay
