// What the codecs that look at values share: native elements of a chunk, its shape in few
// dimensions, and the check of an absolute bound.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "codec/stage.h"

namespace forebay {

/// The elements in native order, in state.values.
std::span<const std::byte> native_values(const StageInput& in, CodecWorkspace::State& state);

/// The same array with at most `most` dimensions: without those of length 1, the slowest merged
/// until few enough remain; at least one. The product stays.
std::vector<std::size_t> merged_shape(const std::vector<Count>& shape, std::size_t most);

/// Whether |x| <= limit for all elements; false where one is NaN.
template <typename T>
bool all_at_most(const T* values, std::size_t n, T limit) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i) all &= std::fabs(values[i]) <= limit;
  return all;
}

/// Whether |x - y| <= bound for all elements, in double precision; false for anything not finite.
template <typename T>
bool all_within(const T* x, const T* y, std::size_t n, double bound) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i)
    all &= std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= bound;
  return all;
}

}  // namespace forebay
