// Quotes what a user wrote, for messages, in a length that can be read.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace forebay {

inline constexpr std::size_t most_quoted = 120;

/// Returns whether a byte begins a UTF-8 character.
inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// Returns the part of a long text around its byte `at`. "…" stands for what is left out.
inline std::string quoted_around(std::string_view text, std::size_t at) {
  if (text.size() <= most_quoted) return '"' + std::string(text) + '"';
  std::size_t begin = at - std::min(at, most_quoted / 2);
  while (begin < text.size() && !begins_character(text[begin])) ++begin;
  std::size_t end = std::min(text.size(), begin + most_quoted);
  while (end > begin && end < text.size() && !begins_character(text[end])) --end;
  return std::string(begin > 0 ? "\"…" : "\"") + std::string(text.substr(begin, end - begin)) +
         (end < text.size() ? "…\"" : "\"");
}

inline std::string quoted(std::string_view text) { return quoted_around(text, 0); }

}  // namespace forebay
