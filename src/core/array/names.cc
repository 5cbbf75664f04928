#include "array/names.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#if FOREBAY_UTF8PROC
#include <utf8proc.h>
#endif

#include "base/error.h"

namespace forebay {

namespace {

bool is_ascii(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](unsigned char c) { return c < 0x80; });
}

/// Returns whether all characters are printable ASCII and none is a slash.
bool is_plain(std::string_view s) {
  unsigned others = 0;
  for (const unsigned char c : s)
    others |= static_cast<unsigned>(c < 0x20 || c >= 0x7F || c == '/');
  return others == 0;
}

/// Returns the bytes of the well-formed UTF-8 sequence at the front of `s`; 0 if there is none.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // This refuses overlong forms, surrogates, and values beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return n;
}

[[noreturn]] void reject(std::string_view name, const char* why) {
  throw Error(Errc::ebadname, "name \"" + std::string(name) + "\": " + why);
}

}  // namespace

std::string normalized_name(std::string_view name) {
#if FOREBAY_UTF8PROC
  if (!is_ascii(name)) {
    utf8proc_uint8_t* composed = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                     static_cast<utf8proc_ssize_t>(name.size()), &composed,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
    if (length >= 0) {
      return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length)};
    }
  }
#endif
  return std::string(name);
}

std::string checked_name(std::string_view name) {
  if (name.empty()) reject(name, "is empty");
  if (name.size() > max_name_bytes) {
    throw Error(Errc::emaxname, "name \"" + std::string(name) + "\" has " +
                                    std::to_string(name.size()) + " bytes, more than 256");
  }
  const auto first = static_cast<unsigned char>(name[0]);
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                      (first >= '0' && first <= '9') || first == '_' || first >= 0x80;
  if (!letter) reject(name, "must begin with a letter, a digit or an underscore");
  if (name.back() == ' ') reject(name, "ends with a space");
  if (is_plain(name)) return std::string(name);
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t n = utf8_length(rest);
    if (n == 0) reject(name, "is not UTF-8");
    const auto c = static_cast<unsigned char>(rest[0]);
    if (c < 0x20 || c == 0x7F || c == '/') reject(name, "has a slash or a control character");
    rest.remove_prefix(n);
  }
  return normalized_name(name);
}

}  // namespace forebay
