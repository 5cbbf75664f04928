#include "method/method_values.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/words.h"

namespace forebay {
namespace {

constexpr std::string_view unit_letters = "KMGT";

// 1024^n for "K", "KiB"…, 1000^n for "KB"…, 1 for "" and "B"; nothing for other units.
std::optional<Count> unit_factor(std::string_view unit) {
  const std::string lower = lower_case(unit);
  if (lower.empty() || lower == "b") return 1;
  const std::size_t power = lower_case(unit_letters).find(lower[0]);
  if (power == std::string::npos) return std::nullopt;
  const std::string rest = lower.substr(1);
  if (!rest.empty() && rest != "ib" && rest != "b") return std::nullopt;
  Count factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= rest == "b" ? 1000 : 1024;
  return factor;
}

}  // namespace

std::optional<Count> parse_count(std::string_view text) {
  text = trimmed(text);
  Count value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Count> parse_size(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  const auto factor = unit_factor(trimmed(text.substr(digits)));
  if (number.empty() || !factor) return std::nullopt;
  if (const auto whole = parse_count(number)) {
    Count bytes = 0;
    if (!multiply_fits(*whole, *factor, bytes)) return std::nullopt;
    return bytes;
  }
  double value = 0;
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (fault != std::errc() || end != number.data() + number.size()) return std::nullopt;
  const double bytes = value * static_cast<double>(*factor);
  if (bytes != std::floor(bytes) || bytes >= 9.0e15) return std::nullopt;
  return static_cast<Count>(bytes);
}

Count leading_number(const std::string& text) {
  errno = 0;
  const long long value = std::strtoll(text.c_str(), nullptr, 10);
  return errno == 0 ? value : 0;
}

std::string friendly_size(Count bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  int power = 0;
  while (value >= 1023.5 && power < 5) {
    value /= 1024;
    ++power;
  }
  const bool whole = value == std::floor(value);
  const int decimals = whole ? 0 : value < 10 ? 2 : value < 1000 ? 1 : 0;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %ciB", decimals, value, "?KMGTP"[power]);
  return text;
}

std::string exact_size(Count bytes) {
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < unit_letters.size()) {
    bytes /= 1024;
    ++power;
  }
  if (power == 0) return std::to_string(bytes);
  return std::to_string(bytes) + unit_letters[power - 1] + "iB";
}

}  // namespace forebay
