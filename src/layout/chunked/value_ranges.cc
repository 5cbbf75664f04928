#include "layout/chunked/value_ranges.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/byteorder.h"

namespace forebay::chunked {
namespace {

// Integers in the order of the numbers that they stand for.
std::int64_t ordered(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

double number(std::int64_t place) {
  return std::bit_cast<double>(place >= 0 ? place
                                          : std::numeric_limits<std::int64_t>::min() - place);
}

template <typename T>
void look(const Request& write, std::span<const std::byte> fill, double& least, double& most) {
  T none = std::numeric_limits<T>::quiet_NaN();
  if (fill.size() == sizeof(T)) none = load_be<T>(fill.data());
  T low = std::numeric_limits<T>::infinity(), high = -low;
  for (Count i = 0; i < write.elements; ++i) {
    const std::byte* at = write.packed + i * static_cast<Count>(sizeof(T));
    T value;
    if (write.swap > 1) {
      std::memcpy(&value, at, sizeof value);
    } else {
      value = load_be<T>(at);
    }
    if (!(std::fabs(value) <= std::numeric_limits<T>::max()) || value == none) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  least = std::min<double>(least, low);
  most = std::max<double>(most, high);
}

}  // namespace

void ValueRanges::add(const Request& write, Type type, std::span<const std::byte> fill) {
  Range& range = known_[write.var];
  if (type == Type::float32) look<float>(write, fill, range.least, range.most);
  if (type == Type::float64) look<double>(write, fill, range.least, range.most);
}

void ValueRanges::share(const Comm& comm, std::span<const VarId> vars) {
  std::vector<std::int64_t> values;
  for (const VarId var : vars) {
    const Range range = known_[var];
    values.insert(values.end(), {ordered(range.least), ordered(-range.most)});
  }
  comm.all_reduce(values, Reduce::min);
  for (std::size_t i = 0; i < vars.size(); ++i)
    known_[vars[i]] = {number(values[2 * i]), -number(values[2 * i + 1])};
}

double ValueRanges::of(VarId var) const {
  const auto found = known_.find(var);
  if (found == known_.end() || found->second.least > found->second.most) return 0;
  // Halves, or the range of all numbers would not be one.
  const double half = found->second.most / 2 - found->second.least / 2;
  return std::min(half, std::numeric_limits<double>::max() / 2) * 2;
}

}  // namespace forebay::chunked
