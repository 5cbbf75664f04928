#include "array/expression.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/quoted.h"

namespace forebay {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// A name has only letters, digits, '_', '.' and non-ASCII characters; '/' and '-' are operators.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool goes_on_in_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }

}  // namespace

// expression ::= product { ("+" | "-") product }
// product    ::= factor { ("*" | "/") factor }
// factor     ::= "-" factor | number | name | "(" expression ")"
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Expression one() {
    begin();
    expression();
    skip_blanks();
    if (at_ < text_.size()) fail("nothing may follow here");
    return end();
  }

  std::vector<Expression> all() {
    std::vector<Expression> list;
    skip_blanks();
    if (at_ == text_.size()) return list;
    while (true) {
      begin();
      expression();
      list.push_back(end());
      if (!take(',')) break;
    }
    if (at_ < text_.size()) fail("a comma was expected");
    return list;
  }

 private:
  using Kind = Expression::Kind;

  void begin() {
    made_ = {};
    terms_ = 0;
    skip_blanks();
    began_ = at_;
  }
  Expression end() {
    std::size_t last = at_;
    while (last > began_ && is_blank(text_[last - 1])) --last;
    made_.text_ = text_.substr(began_, last - began_);
    return std::move(made_);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Errc::einval,
                quoted_around(text_, at_) + ", character " + std::to_string(at_ + 1) + ": " + what,
                "accepted: integers, names of integer scalars, + - * / and parentheses");
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void add(Kind kind) { made_.steps_.push_back({kind, 0, {}}); }

  void expression() {
    product();
    while (true) {
      if (take('+')) {
        product();
        add(Kind::add);
      } else if (take('-')) {
        product();
        add(Kind::subtract);
      } else {
        return;
      }
    }
  }

  void product() {
    factor();
    while (true) {
      if (take('*')) {
        factor();
        add(Kind::multiply);
      } else if (take('/')) {
        factor();
        add(Kind::divide);
      } else {
        return;
      }
    }
  }

  // Each level of the recursion counts as a term, which bounds its depth.
  void factor() {
    if (++terms_ > Expression::most_terms)
      fail("it has more than " + std::to_string(Expression::most_terms) + " terms");
    if (take('-')) {
      factor();
      add(Kind::negate);
    } else if (take('(')) {
      expression();
      if (!take(')')) fail("a closing parenthesis was expected");
    } else if (at_ < text_.size() && is_digit(text_[at_])) {
      number();
    } else if (at_ < text_.size() && begins_name(text_[at_])) {
      const std::size_t first = at_;
      while (at_ < text_.size() && goes_on_in_name(text_[at_])) ++at_;
      made_.steps_.push_back({Kind::name, 0, std::string(text_.substr(first, at_ - first))});
    } else {
      fail("a number, a name or a parenthesis was expected");
    }
  }

  void number() {
    Count value = 0;
    const char* const first = text_.data() + at_;
    const auto [last, failed] = std::from_chars(first, text_.data() + text_.size(), value);
    if (failed != std::errc()) fail("the number is beyond 63 bits");
    at_ += static_cast<std::size_t>(last - first);
    if (at_ < text_.size() && goes_on_in_name(text_[at_])) fail("this belongs to no number");
    made_.steps_.push_back({Kind::number, value, {}});
  }

  std::string_view text_;
  std::size_t at_ = 0, began_ = 0, terms_ = 0;
  Expression made_;
};

Expression Expression::parse(std::string_view text) { return ExpressionParser(text).one(); }

std::vector<Expression> parse_expressions(std::string_view text) {
  return ExpressionParser(text).all();
}

Count Expression::value(const Values& values) const {
  const auto fail = [&](const std::string& what) {
    throw Error(Errc::einval, quoted(text_) + " has no value: " + what,
                "look at the values of the scalars in it, which have to be written before");
  };
  std::array<Count, most_terms> stack;
  std::size_t depth = 0;
  for (const Step& step : steps_) {
    if (step.kind == Kind::number) {
      stack[depth++] = step.number;
    } else if (step.kind == Kind::name) {
      const auto known = values(step.name);
      if (!known) fail(step.name + " was not written in this step");
      stack[depth++] = *known;
    } else {
      const Count right = stack[--depth];
      const Count left = step.kind == Kind::negate ? 0 : stack[--depth];
      Count result = 0;
      bool overflows = false;
      switch (step.kind) {
        case Kind::add:
          overflows = __builtin_add_overflow(left, right, &result);
          break;
        case Kind::subtract:
        case Kind::negate:
          overflows = __builtin_sub_overflow(left, right, &result);
          break;
        case Kind::multiply:
          overflows = __builtin_mul_overflow(left, right, &result);
          break;
        default:
          if (right == 0) fail("it divides by 0");
          if (right == -1)
            overflows = __builtin_sub_overflow(Count{0}, left, &result);
          else
            result = left / right;
      }
      if (overflows) fail("it does not fit 64 bits");
      stack[depth++] = result;
    }
  }
  return stack[0];
}

std::string Expression::printed(const std::function<std::string(Count)>& number,
                                const std::function<std::string(const std::string&)>& name) const {
  const auto sign = [](Kind kind) {
    switch (kind) {
      case Kind::add:
        return " + ";
      case Kind::multiply:
        return " * ";
      case Kind::divide:
        return " / ";
      default:
        return " - ";
    }
  };
  std::vector<std::string> stack;
  for (const Step& step : steps_) {
    if (step.kind == Kind::number || step.kind == Kind::name) {
      stack.push_back(step.kind == Kind::number ? number(step.number) : name(step.name));
      continue;
    }
    const std::string right = std::move(stack.back());
    stack.pop_back();
    if (step.kind == Kind::negate)
      stack.push_back("(-" + right + ")");
    else
      stack.back() = "(" + stack.back() + sign(step.kind) + right + ")";
  }
  return stack.back();
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> all;
  for (const Step& step : steps_)
    if (step.kind == Kind::name && std::find(all.begin(), all.end(), step.name) == all.end())
      all.push_back(step.name);
  return all;
}

std::vector<Expression> Expression::divisors() const {
  std::vector<Expression> all;
  std::vector<std::size_t> operands;  // where each begins
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    const Kind kind = steps_[n].kind;
    if (kind == Kind::number || kind == Kind::name) operands.push_back(n);
    if (kind == Kind::number || kind == Kind::name || kind == Kind::negate) continue;
    const std::size_t right = operands.back();
    operands.pop_back();
    const bool is_number = n - right == 1 && steps_[right].kind == Kind::number;
    if (kind != Kind::divide || (is_number && steps_[right].number != 0)) continue;
    Expression divisor;
    divisor.text_ = text_;
    divisor.steps_ = {steps_.begin() + static_cast<std::ptrdiff_t>(right),
                      steps_.begin() + static_cast<std::ptrdiff_t>(n)};
    all.push_back(std::move(divisor));
  }
  return all;
}

}  // namespace forebay
