#include "array/missing.h"

#include <cmath>
#include <cstddef>
#include <span>

#include "array/convert.h"

namespace forebay {
namespace {

// Returns the numbers of an attribute as values of a floating-point type: a float's neighbour is
// not that of a double.
std::vector<double> numbers(const Attribute& attribute, Type type) {
  if (attribute.type == Type::chr || attribute.count <= 0) return {};
  std::vector<double> values(static_cast<std::size_t>(attribute.count));
  from_external(attribute.type, attribute.value.data(), Type::float64, values.data(),
                attribute.count, nullptr);
  if (type == Type::float32)
    for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  return values;
}

}  // namespace

std::shared_ptr<const MissingRule> missing_rule(const Variable& var) {
  if (!is_floating(var.type)) return nullptr;
  auto rule = std::make_shared<MissingRule>();
  const auto of = [&](const char* name) {
    const auto at = var.attributes.find(name);
    if (!at) return std::vector<double>();
    rule->as_float |= var.type == Type::float64 && var.attributes[*at].type == Type::float32;
    return numbers(var.attributes[*at], var.type);
  };
  const auto add = [&](std::span<const double> values) {
    for (const double v : values)
      if (std::isfinite(v)) rule->values.push_back(v);
  };
  add(of("missing_value"));
  add(of("_FillValue"));
  add(numbers({"", var.type, 1, external_fill(var)}, var.type));
  // A bound that is NaN bounds nothing.
  const auto bound = [&](std::span<const double> low, std::span<const double> high) {
    if (low.size() == 1 && low[0] > rule->least) rule->least = low[0];
    if (high.size() == 1 && high[0] < rule->most) rule->most = high[0];
  };
  bound(of("valid_min"), of("valid_max"));
  const std::vector<double> range = of("valid_range");
  if (range.size() == 2) bound(std::span(range).first(1), std::span(range).last(1));
  return rule;
}

}  // namespace forebay
