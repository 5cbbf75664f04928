#include "method/method_values.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace forebay {
namespace {

constexpr std::string_view unit_letters = "KMGT";

// 1024^n for "K", "KiB"…, 1000^n for "KB"…, 1 for "" and "B"; nothing for anything else.
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

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

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

std::optional<std::string> nearest_word(std::string_view text,
                                        std::span<const std::string_view> words) {
  const std::string wanted = lower_case(text);
  int best = std::numeric_limits<int>::max();
  std::string_view found;
  for (const std::string_view word : words) {
    const int distance = edit_distance(wanted, lower_case(word));
    if (distance < best) {
      best = distance;
      found = word;
    }
  }
  const int tolerated = std::max(1, static_cast<int>(std::min(wanted.size(), found.size())) / 3);
  if (found.empty() || best > tolerated) return std::nullopt;
  return std::string(found);
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> words) {
  const auto meant = nearest_word(text, words);
  return meant ? "did you mean \"" + *meant + "\"? " : "";
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> words,
                         std::string otherwise) {
  const auto meant = nearest_word(text, words);
  return meant ? "did you mean \"" + *meant + "\"?" : std::move(otherwise);
}

}  // namespace forebay
