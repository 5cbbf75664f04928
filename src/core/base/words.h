// Splits and joins lists of words, and finds the word that a user probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace forebay {

/// Returns the text without blanks and line ends around it.
std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

/// Returns the items of a list, trimmed. There is one more than there are separators.
std::vector<std::string_view> items_of(std::string_view list, char separator);

/// Returns key and value of "key = value"; nothing if there is no '=' or no key.
std::optional<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view text);

/// Joins all items with `between` between them. `printed` turns an item into text.
template <typename List, typename Printed>
std::string joined(const List& list, std::string_view between, Printed&& printed) {
  std::string text;
  bool first = true;
  for (const auto& one : list) {
    if (!first) text += between;
    text += printed(one);
    first = false;
  }
  return text;
}
/// Joins words, or numbers in decimal digits.
template <typename List>
std::string joined(const List& list, std::string_view between) {
  return joined(list, between, [](const auto& one) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(one)>>)
      return std::to_string(one);
    else
      return std::string_view(one);
  });
}

/// Returns the word that `text` most likely was meant to be; nothing if no word is near.
std::optional<std::string> nearest_word(std::string_view text,
                                        std::span<const std::string_view> words);

/// Returns a question whether that word was meant, and a blank; empty if no word is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words);
/// Returns the question as a whole advice; `otherwise` if no word is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words,
                         std::string otherwise);

}  // namespace forebay
