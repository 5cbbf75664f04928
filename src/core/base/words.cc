#include "base/words.h"

#include <algorithm>
#include <limits>

namespace forebay {
namespace {

// Returns the number of insertions, deletions and replacements that turn one word into the other.
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

std::vector<std::string_view> items_of(std::string_view list, char separator) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t end = list.find(separator);
    items.push_back(trimmed(list.substr(0, end)));
    if (end == std::string_view::npos) return items;
    list.remove_prefix(end + 1);
  }
}

std::optional<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view key = trimmed(text.substr(0, equals));
  if (equals == std::string_view::npos || key.empty()) return std::nullopt;
  return std::pair(key, trimmed(text.substr(equals + 1)));
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
