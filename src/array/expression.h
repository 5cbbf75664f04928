// Dimension expressions of groups (A §III.A): "4*nx", "(nx + 1) / 2". Integers and names of values
// that are known when it is evaluated, + - * / and parentheses, in 64 bits. Division drops the
// fraction.
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
  /// Of all names in an expression; nothing: there is no such value yet.
  using Values = std::function<std::optional<Count>(std::string_view)>;

  /// Local. Errc::einval, with the position, for what is no expression, has more than `most_terms`
  /// numbers and names, or a number beyond 63 bits.
  static Expression parse(std::string_view text);

  /// Local. Errc::einval where a value is missing, for a division by 0, and where the result or
  /// anything on the way does not fit 64 bits.
  Count value(const Values& values) const;

  /// Local. The same in a programming language that has these operators, each operation in
  /// parentheses, with numbers and names as it has them.
  std::string printed(const std::function<std::string(Count)>& number,
                      const std::function<std::string(const std::string&)>& name) const;

  const std::string& text() const { return text_; }
  std::vector<std::string> names() const;  ///< each once, in order
  /// What it divides by, but for numbers other than 0. A divisor comes behind those within it.
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
  std::vector<Step> steps_;  // operands before what is done with them
};

/// "4*nx,64": expressions with commas between them. Of an empty text there are none.
std::vector<Expression> parse_expressions(std::string_view text);

}  // namespace forebay
