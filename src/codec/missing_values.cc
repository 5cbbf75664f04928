#include "codec/missing_values.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace forebay {
namespace {

using wavelet::Box;

// Calls f(fine index, coarse index) for every element of a box, and that of half its size.
template <typename F>
void each_with_coarse(const Box& box, F&& f) {
  const Box half = wavelet::smooth_of(box);
  std::size_t fine = 0;
  for (std::size_t z = 0; z < box[0]; ++z) {
    for (std::size_t y = 0; y < box[1]; ++y) {
      const std::size_t row = (z / 2 * half[1] + y / 2) * half[2];
      for (std::size_t x = 0; x < box[2]; ++x) f(fine++, row + x / 2);
    }
  }
}

// Down: sums over 2 × 2 × 2 of what is there; up: the mean of the coarse element.
template <typename T>
void pull_and_push(std::span<T> values, std::span<float> weights, const Box& box) {
  bool whole = true, none = true;
  for (const float w : weights) whole &= w > 0, none &= w == 0;
  if (whole) return;
  if (none) {
    std::fill(values.begin(), values.end(), T(0));
    return;
  }
  const Box half = wavelet::smooth_of(box);
  std::vector<T> means(wavelet::elements(half));
  std::vector<float> counts(means.size());
  each_with_coarse(box, [&](std::size_t fine, std::size_t coarse) {
    if (weights[fine] == 0) return;
    // A running mean: a sum of eight may be more than a number can be.
    counts[coarse] += 1;
    means[coarse] += (values[fine] - means[coarse]) / static_cast<T>(counts[coarse]);
  });
  pull_and_push(std::span<T>(means), std::span<float>(counts), half);
  each_with_coarse(box, [&](std::size_t fine, std::size_t coarse) {
    if (weights[fine] == 0) values[fine] = means[coarse];
  });
}

template <typename T>
auto bits_of(T value) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
}

}  // namespace

template <typename T>
std::size_t find_missing(std::span<const T> values, const T* fill, std::vector<Missing>& mask) {
  mask.assign(values.size(), Missing::no);
  std::size_t found = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T v = values[i];
    if (fill != nullptr && bits_of(v) == bits_of(*fill)) {
      mask[i] = Missing::fill;
    } else if (std::isnan(v)) {
      mask[i] = Missing::not_a_number;
    } else if (std::isinf(v)) {
      mask[i] = v > 0 ? Missing::plus_infinity : Missing::minus_infinity;
    } else {
      continue;
    }
    ++found;
  }
  return found;
}

template <typename T>
void fill_in(std::span<T> values, const Box& box, std::span<const Missing> mask) {
  std::vector<float> weights(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) weights[i] = mask[i] == Missing::no ? 1.0F : 0.0F;
  pull_and_push(values, std::span<float>(weights), box);
}

std::vector<Missing> coarser(std::span<const Missing> mask, const Box& box) {
  std::vector<Missing> coarse(wavelet::elements(wavelet::smooth_of(box)), Missing::fill);
  std::vector<bool> seen(coarse.size());
  each_with_coarse(box, [&](std::size_t fine, std::size_t at) {
    if (!seen[at] || mask[fine] == Missing::no) coarse[at] = mask[fine];
    seen[at] = true;
  });
  return coarse;
}

template <typename T>
T value_of(Missing missing, const T* fill) {
  switch (missing) {
    case Missing::fill:
      return fill != nullptr ? *fill : T(0);
    case Missing::plus_infinity:
      return std::numeric_limits<T>::infinity();
    case Missing::minus_infinity:
      return -std::numeric_limits<T>::infinity();
    default:
      return std::numeric_limits<T>::quiet_NaN();
  }
}

template std::size_t find_missing(std::span<const float>, const float*, std::vector<Missing>&);
template std::size_t find_missing(std::span<const double>, const double*, std::vector<Missing>&);
template void fill_in(std::span<float>, const Box&, std::span<const Missing>);
template void fill_in(std::span<double>, const Box&, std::span<const Missing>);
template float value_of(Missing, const float*);
template double value_of(Missing, const double*);

}  // namespace forebay
