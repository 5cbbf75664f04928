#include "workloads/cdl.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

namespace forebay::bench::cdl {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 14> kTypeNames{{
    {"byte", Type::Byte},
    {"char", Type::Char},
    {"short", Type::Short},
    {"int", Type::Int},
    {"long", Type::Int},
    {"float", Type::Float},
    {"real", Type::Float},
    {"double", Type::Double},
    {"ubyte", Type::UByte},
    {"ushort", Type::UShort},
    {"uint", Type::UInt},
    {"int64", Type::Int64},
    {"uint64", Type::UInt64},
    {"string", Type::Char},
}};

std::optional<Type> type_named(std::string_view word) {
  for (const auto& [name, type] : kTypeNames) {
    if (name == word) return type;
  }
  return std::nullopt;
}

bool is_real(Type type) { return type == Type::Float || type == Type::Double; }

enum class TokenKind { Word, Number, Text, Punctuation, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;  // of Text: with escapes resolved
  int line = 1;
};

[[noreturn]] void fail(int line, const std::string& message) {
  throw ParseError("line " + std::to_string(line) + ": " + message);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_blank();
    Token token;
    token.line = line_;
    if (at_ >= text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') {
      token.kind = TokenKind::Text;
      token.text = quoted();
    } else if (starts_number()) {
      token.kind = TokenKind::Number;
      token.text = take_while([](char x) {
        return std::isalnum(static_cast<unsigned char>(x)) != 0 || x == '.' || x == '+' || x == '-';
      });
    } else if (is_name_char(c)) {
      token.kind = TokenKind::Word;
      token.text = name();
    } else {
      token.kind = TokenKind::Punctuation;
      token.text = std::string(1, c);
      ++at_;
    }
    return token;
  }

 private:
  static bool is_name_char(char c) {
    const auto u = static_cast<unsigned char>(c);
    return std::isalnum(u) != 0 || u >= 0x80 ||
           std::string_view("_.+-@\\").find(c) != std::string_view::npos;
  }

  bool starts_number() const {
    std::size_t i = at_;
    if (text_[i] == '-' || text_[i] == '+') ++i;
    if (i < text_.size() && text_[i] == '.') ++i;
    return i < text_.size() && std::isdigit(static_cast<unsigned char>(text_[i])) != 0;
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  template <typename Accept>
  std::string take_while(Accept accept) {
    const std::size_t from = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  std::string name() {
    std::string out;
    while (at_ < text_.size() && is_name_char(text_[at_])) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_++];
    }
    return out;
  }

  std::string quoted() {
    const int first_line = line_;
    std::string out;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\n') ++line_;
      out += c == '\\' ? escape() : c;
    }
    fail(first_line, "a string is not closed");
  }

  // Leaves at_ on the last character of the escape.
  char escape() {
    if (++at_ >= text_.size()) fail(line_, "a string ends in a backslash");
    const char c = text_[at_];
    if (c >= '0' && c <= '7') return numeric_escape(8, 3, at_);
    if (c == 'x') return numeric_escape(16, 2, at_ + 1);
    static constexpr std::string_view from = "abfnrtv";
    static constexpr std::string_view to = "\a\b\f\n\r\t\v";
    const std::size_t k = from.find(c);
    return k == std::string_view::npos ? c : to[k];
  }

  char numeric_escape(int base, std::size_t digits, std::size_t from) {
    const std::string number(text_.substr(from, digits));
    char* end = nullptr;
    const long value = std::strtol(number.c_str(), &end, base);
    if (end == number.c_str()) fail(line_, "a numeric escape has no digits");
    at_ = from + static_cast<std::size_t>(end - number.c_str()) - 1;
    return static_cast<char>(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

struct Number {
  Type type;
  std::int64_t integer = 0;
  double real = 0;
};

Type type_of_suffix(std::string suffix, bool has_point, int line) {
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::pair<std::string_view, Type>, 11> table{{
      {"b", Type::Byte},
      {"ub", Type::UByte},
      {"s", Type::Short},
      {"us", Type::UShort},
      {"l", Type::Int},
      {"u", Type::UInt},
      {"ul", Type::UInt},
      {"ll", Type::Int64},
      {"ull", Type::UInt64},
      {"f", Type::Float},
      {"d", Type::Double},
  }};
  if (suffix.empty()) return has_point ? Type::Double : Type::Int;
  for (const auto& [name, type] : table) {
    if (name == suffix) return type;
  }
  fail(line, "unknown suffix \"" + suffix + "\" of a number");
}

Number parse_number(const std::string& text, int line) {
  // Hexadecimal integers aside, the digits end where a suffix letter other than an exponent begins.
  const bool hex = text.find("0x") != std::string::npos || text.find("0X") != std::string::npos;
  char* end = nullptr;
  errno = 0;
  Number number{Type::Int};
  number.real = std::strtod(text.c_str(), &end);
  const std::string digits(text.c_str(), static_cast<std::size_t>(end - text.c_str()));
  const bool has_point = !hex && digits.find_first_of(".eE") != std::string::npos;
  number.type = type_of_suffix(end, has_point, line);
  if (is_real(number.type)) return number;
  errno = 0;
  if (number.type == Type::UInt64) {
    number.integer = static_cast<std::int64_t>(std::strtoull(digits.c_str(), nullptr, 0));
  } else {
    number.integer = std::strtoll(digits.c_str(), nullptr, hex ? 16 : 10);
  }
  if (errno == ERANGE) fail(line, "the number " + text + " is too large");
  using Limits = std::numeric_limits<std::int32_t>;
  const bool wide = number.integer > Limits::max() || number.integer < Limits::min();
  if (number.type == Type::Int && wide) number.type = Type::Int64;
  return number;
}

std::optional<Number> special_number(const std::string& word) {
  const bool is_float = !word.empty() && word.back() == 'f';
  std::string body = is_float ? word.substr(0, word.size() - 1) : word;
  const double sign = !body.empty() && body.front() == '-' ? -1.0 : 1.0;
  if (!body.empty() && (body.front() == '-' || body.front() == '+')) body.erase(0, 1);
  const Type type = is_float ? Type::Float : Type::Double;
  if (body == "NaN") return Number{type, 0, std::numeric_limits<double>::quiet_NaN()};
  if (body == "Infinity") return Number{type, 0, sign * std::numeric_limits<double>::infinity()};
  // "Infinity" itself ends in no "f", but "Inf" does.
  if (word == "Inf") return Number{Type::Double, 0, std::numeric_limits<double>::infinity()};
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Header parse() {
    expect_word("netcdf");
    header_.name = take(TokenKind::Word, "a name after \"netcdf\"");
    expect("{");
    while (!is("}")) {
      if (token_.kind == TokenKind::End) fail(token_.line, "the closing brace is missing");
      if (token_.text == "data" && token_.kind == TokenKind::Word) break;
      section_or_declaration();
    }
    return std::move(header_);
  }

 private:
  enum class Section { None, Dimensions, Variables };

  void section_or_declaration() {
    if (is(":")) {
      attribute(header_.atts, std::nullopt);
      return;
    }
    const std::string word = take(TokenKind::Word, "a name");
    if (section_ != Section::Dimensions && word == "dimensions" && is(":")) {
      section_ = Section::Dimensions;
      advance();
    } else if (word == "variables" && is(":")) {
      section_ = Section::Variables;
      advance();
    } else if (section_ == Section::Dimensions) {
      dimensions(word);
    } else {
      variable_or_attribute(word);
    }
  }

  void dimensions(std::string name) {
    for (;;) {
      expect("=");
      Dimension dim{std::move(name)};
      if (token_.kind == TokenKind::Number) {
        dim.length = parse_number(token_.text, token_.line).integer;
        if (dim.length < 0) fail(token_.line, "a dimension has a negative length");
        advance();
      } else {
        const std::string word = take(TokenKind::Word, "a length");
        dim.unlimited = word == "UNLIMITED" || word == "unlimited";
        if (!dim.unlimited) fail(token_.line, "\"" + word + "\" is no dimension length");
      }
      if (header_.find_dim(dim.name) >= 0)
        fail(token_.line, "dimension " + dim.name + " is defined twice");
      header_.dims.push_back(std::move(dim));
      if (!is(",")) break;
      advance();
      name = take(TokenKind::Word, "a dimension name");
    }
    expect(";");
  }

  // A declaration begins with a type, an attribute with an optional type and a variable's name; a
  // variable may be called like a type, so the colon decides.
  void variable_or_attribute(const std::string& word) {
    if (is(":")) {
      attribute(variable(word).atts, std::nullopt);
      return;
    }
    const std::optional<Type> type = type_named(word);
    if (!type) fail(token_.line, "\"" + word + "\" is neither a type nor followed by an attribute");
    if (is(":")) {
      attribute(header_.atts, type);
      return;
    }
    const std::string name = take(TokenKind::Word, "a variable name");
    if (is(":")) {
      attribute(variable(name).atts, type);
    } else {
      variables(*type, name);
    }
  }

  void variables(Type type, std::string name) {
    for (;;) {
      Variable var{std::move(name), type, {}, {}};
      if (is("(")) {
        do {
          advance();
          const std::string dim = take(TokenKind::Word, "a dimension name");
          var.dims.push_back(header_.find_dim(dim));
          if (var.dims.back() < 0)
            fail(token_.line, var.name + " uses the unknown dimension " + dim);
        } while (is(","));
        expect(")");
      }
      header_.vars.push_back(std::move(var));
      if (!is(",")) break;
      advance();
      name = take(TokenKind::Word, "a variable name");
    }
    expect(";");
  }

  Variable& variable(const std::string& name) {
    // Attributes nearly always follow their variable.
    for (auto it = header_.vars.rbegin(); it != header_.vars.rend(); ++it) {
      if (it->name == name) return *it;
    }
    fail(token_.line, "an attribute belongs to the unknown variable " + name);
  }

  void attribute(std::vector<Attribute>& owner, std::optional<Type> declared) {
    expect(":");
    Attribute att;
    const int line = token_.line;
    att.name = take(TokenKind::Word, "an attribute name");
    expect("=");
    std::string text;
    std::vector<Number> numbers;
    bool any_text = false;
    while (!is(";")) {
      if (token_.kind == TokenKind::Text) {
        text += token_.text;
        any_text = true;
        advance();
      } else {
        numbers.push_back(number());
      }
      if (is(",")) advance();
    }
    expect(";");
    if (any_text && !numbers.empty()) fail(line, att.name + " mixes text and numbers");
    set_values(att, any_text || numbers.empty(), std::move(text), numbers, declared);
    owner.push_back(std::move(att));
  }

  static void set_values(Attribute& att, bool is_text, std::string text,
                         const std::vector<Number>& numbers, std::optional<Type> declared) {
    if (is_text) {
      att.type = Type::Char;
      att.values = std::move(text);
      return;
    }
    // Values of one list share the widest type among them.
    Type type = numbers.front().type;
    for (const Number& n : numbers) {
      if (is_real(n.type) || (!is_real(type) && size_of(n.type) > size_of(type))) type = n.type;
    }
    att.type = declared.value_or(type);
    if (is_real(att.type)) {
      std::vector<double> values;
      for (const Number& n : numbers) values.push_back(n.real);
      att.values = std::move(values);
    } else {
      std::vector<std::int64_t> values;
      for (const Number& n : numbers) {
        values.push_back(is_real(n.type) ? static_cast<std::int64_t>(n.real) : n.integer);
      }
      att.values = std::move(values);
    }
  }

  Number number() {
    const Token token = token_;
    advance();
    if (token.kind == TokenKind::Number) return parse_number(token.text, token.line);
    if (token.kind == TokenKind::Word) {
      if (auto special = special_number(token.text)) return *special;
    }
    fail(token.line, "\"" + token.text + "\" is no attribute value");
  }

  bool is(std::string_view punctuation) const {
    return token_.kind == TokenKind::Punctuation && token_.text == punctuation;
  }
  void advance() { token_ = lexer_.next(); }
  void expect(std::string_view punctuation) {
    if (!is(punctuation)) {
      fail(token_.line,
           "expected \"" + std::string(punctuation) + "\", found \"" + token_.text + "\"");
    }
    advance();
  }
  void expect_word(std::string_view word) {
    if (token_.kind != TokenKind::Word || token_.text != word) {
      fail(token_.line, "expected \"" + std::string(word) + "\"");
    }
    advance();
  }
  std::string take(TokenKind kind, const char* what) {
    if (token_.kind != kind) {
      fail(token_.line, std::string("expected ") + what + ", found \"" + token_.text + "\"");
    }
    std::string text = std::move(token_.text);
    advance();
    return text;
  }

  Lexer lexer_;
  Token token_;
  Header header_;
  Section section_ = Section::None;
};

}  // namespace

int size_of(Type type) {
  switch (type) {
    case Type::Byte:
    case Type::Char:
    case Type::UByte:
      return 1;
    case Type::Short:
    case Type::UShort:
      return 2;
    case Type::Int:
    case Type::UInt:
    case Type::Float:
      return 4;
    case Type::Double:
    case Type::Int64:
    case Type::UInt64:
      return 8;
  }
  return 0;
}

int Header::find_dim(std::string_view dim_name) const {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == dim_name) return static_cast<int>(i);
  }
  return -1;
}

bool Header::is_record(const Variable& var) const {
  return !var.dims.empty() && dims[static_cast<std::size_t>(var.dims.front())].unlimited;
}

Header parse(std::string_view text) { return Parser(text).parse(); }

Header parse_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ParseError("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return parse(text.str());
  } catch (const ParseError& e) {
    throw ParseError(path + ", " + e.what());
  }
}

}  // namespace forebay::bench::cdl
