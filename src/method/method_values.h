// Values of method keys as people write them: sizes, counts, words, and what they may have meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"

namespace forebay {

/// Bytes of "65536", "64k", "64K", "64KiB", "4M", "4MiB", "1.5GiB", "2TiB", "10 MB". k, M, G, T
/// alone and with "iB" are powers of 1024; with "B" alone powers of 1000. Nothing for negative
/// numbers, other words, parts of bytes, and what leaves 63 bits.
std::optional<Count> parse_size(std::string_view text);

/// A whole number of at least 0, digits only.
std::optional<Count> parse_count(std::string_view text);

/// The number that PnetCDF reads: blanks, a sign, then decimal digits, whatever follows; 0 where
/// there are no digits or too many.
Count leading_number(const std::string& text);

/// "4 MiB", "64 KiB", "1.50 GiB", "17 B": at most four digits, for people.
std::string friendly_size(Count bytes);

/// "4MiB", "100000": exactly that size, in a form that parse_size reads.
std::string exact_size(Count bytes);

/// The word of `words` that `text` most likely was meant to be; nothing if none is near.
std::optional<std::string> nearest_word(std::string_view text,
                                        std::span<const std::string_view> words);

/// The question whether that word was meant, with a blank behind it; empty: none is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words);
/// The same as a whole advice; where none is near, the other one.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words,
                         std::string otherwise);

std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

}  // namespace forebay
