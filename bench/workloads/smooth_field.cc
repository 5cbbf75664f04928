#include "workloads/smooth_field.h"

#include <cmath>
#include <numbers>

#include "workloads/values.h"

namespace forebay::bench {
namespace {

constexpr int kBits = 17;
constexpr double kWholeTurn = 2 * std::numbers::pi;

// A sine with 1 to 8 waves over `length`, and what follows from `key` for its place.
double wave(std::uint64_t key, std::int64_t at, std::int64_t length) {
  const double waves = 1 + mixed_bits(key) % 8;
  return std::sin(kWholeTurn * (waves * static_cast<double>(at) / static_cast<double>(length) +
                                mixed_unit(key + 1)));
}

}  // namespace

float smooth_value(std::uint32_t seed, std::int64_t element, std::int64_t rows,
                   std::int64_t columns) {
  const std::uint64_t key = std::uint64_t{seed} * 4;
  const double along = wave(key, element % columns, columns);
  const double across = wave(key + 2, element / columns % rows, rows);
  const double height = std::exp2(static_cast<double>(seed % 16) - 4);
  return keep_bits(static_cast<float>(height * (4 + across + along * (1.5 - across))), kBits);
}

}  // namespace forebay::bench
