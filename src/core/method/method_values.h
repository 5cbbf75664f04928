// Parses and prints sizes and counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace forebay {

/// The bytes in "65536", "64k", "64K", "64KiB", "4M", "4MiB", "1.5GiB", "2TiB", "10 MB". k, M, G, T
/// alone and with "iB" are powers of 1024; with "B" powers of 1000. Nothing for negative numbers,
/// other words, fractions of bytes, and numbers beyond 63 bits.
std::optional<Count> parse_size(std::string_view text);

/// A whole number >= 0, digits only.
std::optional<Count> parse_count(std::string_view text);

/// The number as PnetCDF reads it: blanks, a sign, then decimal digits; the rest is ignored. 0 if
/// there are no digits or too many.
Count leading_number(const std::string& text);

/// "4 MiB", "64 KiB", "1.50 GiB", "17 B": at most four digits, for users to read.
std::string friendly_size(Count bytes);

/// "4MiB", "100000": exactly this size, in a form that parse_size reads.
std::string exact_size(Count bytes);

}  // namespace forebay
