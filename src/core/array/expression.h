// Dimension expressions of groups (Lofstead et al. 2009, §III.A), such as "4*nx" or "(nx + 1) / 2".
// They have integers, names of values that are known at evaluation, + - * / and parentheses, in 64
// bits. Division drops the fraction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace forebay {

class Expression {
 public:
  /// Returns the value of a name in an expression; nothing if there is no such value yet.
  using Values = std::function<std::optional<Count>(std::string_view)>;

  /// Local. Throws Errc::einval, with the position, for text that is no expression, has more than
  /// `most_terms` numbers and names, or a number beyond 63 bits.
  static Expression parse(std::string_view text);

  /// Local. Throws Errc::einval if a value is missing, for a division by 0, and if the result or
  /// anything on the way does not fit 64 bits.
  Count value(const Values& values) const;

  /// Local. Prints the expression in a programming language that has these operators. Each
  /// operation is in parentheses; `number` and `name` print numbers and names.
  std::string printed(const std::function<std::string(Count)>& number,
                      const std::function<std::string(const std::string&)>& name) const;

  const std::string& text() const { return text_; }
  std::vector<std::string> names() const;  ///< each once, in order
  /// Returns what it divides by, except nonzero numbers. A divisor comes after those within it.
  std::vector<Expression> divisors() const;

  static constexpr std::size_t most_terms = 256;

 private:
  friend class ExpressionParser;

  enum class Kind : std::uint8_t { number, name, add, subtract, multiply, divide, negate };
  struct Step {
    Kind kind = Kind::number;
    Count number = 0;
    std::string name;
  };

  std::string text_;
  std::vector<Step> steps_;  // an operation follows its operands
};

/// Parses expressions with commas between them, such as "4*nx,64". An empty text has none.
std::vector<Expression> parse_expressions(std::string_view text);

}  // namespace forebay
