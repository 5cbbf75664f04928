// Generates code in C that is also valid C++.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "groups/generate/speech.h"

namespace forebay::tools {
namespace {

/// Returns the C type of an element; empty for strings, and for complex numbers, of which C++ has
/// other types. The printed names of types are those of C.
std::string c_type(GroupType type) {
  if (is_integer(type)) return fmt::format("{}_t", name_of(type));
  return to_engine(type) == Type::none ? "" : name_of(type);
}

// The keywords of C and C++, the words of <stdbool.h>, and NULL.
bool is_keyword(const std::string& text) {
  static const std::set<std::string_view> keywords = {
      "NULL",      "alignas",   "alignof",  "and",      "asm",      "auto",     "bool",
      "break",     "case",      "catch",    "char",     "class",    "compl",    "const",
      "continue",  "decltype",  "default",  "delete",   "do",       "double",   "else",
      "enum",      "explicit",  "export",   "extern",   "false",    "float",    "for",
      "friend",    "goto",      "if",       "inline",   "int",      "long",     "mutable",
      "namespace", "new",       "noexcept", "not",      "nullptr",  "operator", "or",
      "private",   "protected", "public",   "register", "restrict", "return",   "short",
      "signed",    "sizeof",    "static",   "struct",   "switch",   "template", "this",
      "throw",     "true",      "try",      "typedef",  "typename", "union",    "unsigned",
      "using",     "virtual",   "void",     "volatile", "while",    "xor"};
  return keywords.contains(text);
}

// A question mark is escaped, since it could begin a trigraph.
std::string literal(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '?') made += '\\';
    made += c;
  }
  return made + "\"";
}

class CSpeech : public Speech {
 public:
  bool is_name(const std::string& text) const override {
    return is_identifier(text) && !is_keyword(text);
  }
  std::string number(Count value) const override { return fmt::format("INT64_C({})", value); }
  std::string integer(const std::string& value) const override {
    return fmt::format("(int64_t)({})", value);
  }
  bool has_c_order() const override { return true; }

  void begin(const std::vector<std::string>& about) override {
    for (std::size_t n = 0; n < about.size(); ++n)
      text_ += (n == 0 ? "/* " : " * ") + about[n] + (n + 1 < about.size() ? "\n" : " */\n");
  }
  void end() override {}

  void size(const std::string& bytes) override {
    text_ += fmt::format(
        "if (forebay_status == 0)\n  forebay_status = forebay_group_size(forebay_file, {});\n",
        bytes);
  }
  // Converts to the declared type, whatever type the program has.
  void write_scalar(const Spoken& what) override {
    const std::string type = c_type(what.variable->type);
    if (type.empty()) return write(what, fmt::format("&({})", what.value));
    text_ += fmt::format("if (forebay_status == 0) {{\n  const {} forebay_value = ({});\n", type,
                         what.value);
    text_ +=
        fmt::format("  forebay_status = forebay_write(forebay_file, {}, &forebay_value);\n}}\n",
                    literal(what.variable->name));
  }
  void write_string(const Spoken& what) override { write(what, what.value); }
  void write_array(const Spoken& what) override { write(what, what.value); }

  void read_scalar(const Spoken& what) override {
    const std::string type = c_type(what.variable->type);
    expect(what, 0);
    text_ += "if (forebay_status == 0) {\n";
    if (!type.empty()) text_ += fmt::format("  {} forebay_value;\n", type);
    text_ += fmt::format("  forebay_status = forebay_read(forebay_file, {}, {}, NULL, NULL, {});\n",
                         literal(what.variable->name), step(what),
                         type.empty() ? fmt::format("&({})", what.value) : "&forebay_value");
    if (!type.empty())
      text_ += fmt::format("  if (forebay_status == 0) {} = forebay_value;\n", what.value);
    text_ += "}\n";
  }
  // The size of the program's buffer is unknown.
  void read_string(const Spoken& what) override {
    text_ += fmt::format("/* {} is a string: forebay_inq_shape tells how many bytes it takes. */\n",
                         in_comment(what.variable->name));
  }
  void read_array(const Spoken& what, const SpokenBox& box) override {
    text_ += "{\n";
    if (!box.divisors.empty())
      text_ += fmt::format("  const int forebay_divides = {} != 0;\n",
                           fmt::join(box.divisors, " != 0 && "));
    list("forebay_start", box.start, box);
    list("forebay_count", box.count, box);
    if (box.summed) {
      text_ += fmt::format(
          "  MPI_Scan(&forebay_count[{0}], &forebay_start[{0}], 1, MPI_INT64_T, MPI_SUM, "
          "forebay_comm);\n  forebay_start[{0}] -= forebay_count[{0}];\n",
          *box.summed);
    }
    if (!box.divisors.empty()) text_ += "  if (!forebay_divides) forebay_count[0] = -1;\n";
    expect(what, box.count.size(), "  ");
    text_ += fmt::format(
        "  if (forebay_status == 0)\n    forebay_status = forebay_read(forebay_file, {}, {}, "
        "forebay_start, forebay_count, {});\n}}\n",
        literal(what.variable->name), step(what), what.value);
  }

  Declarations declarations() const override {
    return {"int forebay_file         ", "int64_t forebay_step     ", "int forebay_status       ",
            "MPI_Comm forebay_comm    whose ranks all include this, together"};
  }

 private:
  static std::string step(const Spoken& what) { return what.variable->once ? "0" : "forebay_step"; }
  void write(const Spoken& what, const std::string& address) {
    text_ += fmt::format(
        "if (forebay_status == 0) forebay_status = forebay_write(forebay_file, {}, {});\n",
        literal(what.variable->name), address);
  }
  void expect(const Spoken& what, std::size_t dimensions, const char* indent = "") {
    text_ += fmt::format(
        "{}if (forebay_status == 0)\n{}  forebay_status = forebay_expect(forebay_file, {}, \"{}\", "
        "{});\n",
        indent, indent, literal(what.variable->name), name_of(what.variable->type), dimensions);
  }
  // Prints a list whose values are 0 if a divisor is 0.
  void list(const char* name, std::vector<std::string> values, const SpokenBox& box) {
    if (!box.divisors.empty())
      for (std::string& value : values) value = "forebay_divides ? " + value + " : 0";
    text_ += fmt::format("  int64_t {}[] = {{{}}};\n", name, fmt::join(values, ", "));
  }
};

}  // namespace

bool is_identifier(std::string_view text) {
  const auto begins = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && begins(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return begins(c) || (c >= '0' && c <= '9'); });
}

std::string in_comment(std::string text) {
  for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos; ++at)
    text.replace(at, 2, "* /");
  return text;
}

std::unique_ptr<Speech> speak_c() { return std::make_unique<CSpeech>(); }

}  // namespace forebay::tools
