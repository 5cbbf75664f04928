// Words as people write them: in lists, in pairs, and what they may have been meant to be.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace forebay {

/// Without the blanks and ends of lines around it.
std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);

/// The items of a list, trimmed: one more than there are separators.
std::vector<std::string_view> items_of(std::string_view list, char separator);

/// A key and its value of "key = value"; nothing where there is no '=', or no key.
std::optional<std::pair<std::string_view, std::string_view>> key_and_value(std::string_view text);

/// One text of all, with `between` between them; `printed` makes a word of each.
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
/// Of words, or of numbers in digits.
template <typename List>
std::string joined(const List& list, std::string_view between) {
  return joined(list, between, [](const auto& one) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(one)>>)
      return std::to_string(one);
    else
      return std::string_view(one);
  });
}

/// The word of `words` that `text` most likely was meant to be; nothing if none is near.
std::optional<std::string> nearest_word(std::string_view text,
                                        std::span<const std::string_view> words);

/// The question whether that word was meant, with a blank behind it; empty: none is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words);
/// The same as a whole advice; where none is near, the other one.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words,
                         std::string otherwise);

}  // namespace forebay
