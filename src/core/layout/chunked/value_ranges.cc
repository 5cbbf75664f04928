#include "layout/chunked/value_ranges.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/byteorder.h"

namespace forebay::chunked {
namespace {

// Maps numbers to integers with the same order.
std::int64_t ordered(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

double number(std::int64_t place) {
  return std::bit_cast<double>(place >= 0 ? place
                                          : std::numeric_limits<std::int64_t>::min() - place);
}

void look(Type type, std::span<const std::byte> values, bool native, const MissingRule* missing,
          Extremes& extremes) {
  const auto each = [&](auto zero) {
    using T = decltype(zero);
    extremes.add<T>(
        values.size() / sizeof(T),
        [&](std::size_t i) {
          const std::byte* const at = values.data() + i * sizeof(T);
          return native ? load_native<T>(at) : load_be<T>(at);
        },
        MissingTest<T>(missing));
  };
  if (type == Type::float32) each(0.0F);
  if (type == Type::float64) each(0.0);
}

}  // namespace

std::optional<double> range_of_values(Type type, std::span<const std::byte> raw,
                                      const MissingRule* missing) {
  Extremes extremes;
  look(type, raw, false, missing, extremes);
  const Extremes::Ordinary values = extremes.ordinary();
  return values.any() ? std::optional(values.range()) : std::nullopt;
}

void ValueRanges::add(const Request& write, Type type, const MissingRule* missing) {
  const auto bytes = static_cast<std::size_t>(write.elements * size_of(type));
  look(type, {write.packed, bytes}, write.swap > 1, missing, known_[write.var]);
}

void ValueRanges::share(const Comm& comm, std::span<const VarId> vars) {
  std::vector<std::int64_t> values;
  for (const VarId var : vars)
    for (const double v : known_[var].numbers()) values.push_back(ordered(v));
  comm.all_reduce(values, Reduce::min);
  auto next = values.begin();
  for (const VarId var : vars) {
    auto numbers = known_[var].numbers();
    for (double& v : numbers) v = number(*next++);
    known_[var] = Extremes::of_numbers(numbers);
  }
}

std::optional<double> ValueRanges::of(VarId var) const {
  const auto found = known_.find(var);
  return found == known_.end() ? std::nullopt : std::optional(found->second.ordinary().range());
}

}  // namespace forebay::chunked
