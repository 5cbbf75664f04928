// Fuzz target over what people write: the XML of FOREBAY_CONFIG with methods and groups, hints, and
// dimensions. What is wrong is refused with words; what is taken can be used.
//
// The first byte chooses what the others are: a configuration, which is applied to files;
// hints; expressions.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/expression.h"
#include "base/error.h"
#include "method/config.h"
#include "method/glob.h"
#include "method/method.h"
#include "must.h"

namespace {

using namespace forebay;

/// Any name has a value, of names that are alike the same: small, none, and ones that overflow.
std::optional<Count> value_of(std::string_view name, Count scale) {
  std::uint64_t mixed = 1469598103934665603u;
  for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 1099511628211u;
  if (mixed % 7 == 0) return std::nullopt;
  return static_cast<Count>(mixed % 5) * scale;
}

std::optional<Count> value(const Expression& expression, Count scale) {
  try {
    return expression.value([&](std::string_view name) { return value_of(name, scale); });
  } catch (const Error& error) {
    must(error.code() == Errc::einval, "what has no value is the program's mistake");
    return std::nullopt;
  }
}

void check_expression(const Expression& expression) {
  const std::string printed = expression.printed([](Count n) { return std::to_string(n); },
                                                 [](const std::string& name) { return name; });
  std::optional<Expression> again;
  try {
    again = Expression::parse(printed);
  } catch (const Error&) {
    // More parentheses than an expression may have terms.
  }
  const auto divisors = expression.divisors();
  must(expression.names().size() <= Expression::most_terms &&
           divisors.size() <= Expression::most_terms,
       "terms are bounded");
  for (const Count scale : {Count{1}, Count{-3}, Count{1} << 40, Count{1} << 60}) {
    const auto is = value(expression, scale);
    if (again) must(value(*again, scale) == is, "what is printed has the same value");
    if (!is) continue;
    for (const Expression& divisor : divisors)
      must(value(divisor, scale).value_or(0) != 0, "nothing was divided by 0");
  }
}

void check_group_made(const GroupDefinition& group) {
  must(!group.name.empty() && group.line > 0, "a group has a name, and a place");
  for (const GroupVariable& v : group.variables) {
    must(group.find(v.name) == &v, "a variable is found by its name");
    const std::size_t n = v.dimensions.size();
    must(n <= 32 && (v.global.empty() || (v.global.size() == n && v.offsets.size() == n)),
         "a box has as many of each");
    must(!v.joined || (*v.joined >= 0 && static_cast<std::size_t>(*v.joined) < n),
         "blocks follow along a dimension that there is");
    must(!v.histogram || (v.histogram->bins >= 1 && v.histogram->least < v.histogram->greatest),
         "a histogram has bins");
    for (const auto* list : {&v.dimensions, &v.global, &v.offsets})
      for (const Expression& expression : *list) check_expression(expression);
  }
}

void use(const Method& method) {
  for (const MethodKey& key : method_keys()) (void)shown_method_value(method, key.name);
  for (const char* const name : {"T", "T_2", ""}) (void)variable_method(method, name);
  (void)to_hints(method);
}

void configuration(std::string_view text) {
  const Config config = parse_config(text, "run.xml");
  for (const GroupDefinition& group : config.groups) check_group_made(group);
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text = text;
  std::vector<std::string> groups = {""};
  for (const GroupMethod& method : config.group_methods) groups.push_back(method.group);
  // It was checked as a whole: whichever of it applies is no mistake.
  try {
    for (const std::string& group : groups)
      for (const char* const path : {"run.bp", "out/T_1.nc"})
        use(choose_method(path, {}, sources, group));
  } catch (const Error& error) {
    must(false, error.message().c_str());
  }
}

void hints(std::string_view text) {
  Method method;
  apply_hints(method, text, "the target");
  use(method);
  apply_aliases(method);
  use(method);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    switch (data[0] % 4) {
      case 0:
        configuration(text);
        break;
      case 1:
        hints(text);
        break;
      case 2:
        for (const Expression& expression : parse_expressions(text)) check_expression(expression);
        break;
      default:
        if (!glob_fault(std::string(text))) (void)glob_match_path(std::string(text), "out/T_1.nc");
    }
  } catch (const Error& error) {
    must(error.code() == Errc::einval || error.code() == Errc::enotsupport, "the text is wrong");
    must(!error.message().empty() && !error.advice().empty(), "what would be accepted is said");
  }
  return 0;
}
