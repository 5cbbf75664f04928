// What the codecs that look at values share: native elements of a chunk, its shape in few
// dimensions, their range, and the check of an absolute bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "base/byteorder.h"
#include "codec/stage.h"

namespace forebay {

/// The elements in native order: in state.values, or where they are.
std::span<const std::byte> native_values(const StageInput& in, CodecWorkspace::State& state);

/// Where native elements that are decoded go: state.values, or `out` itself.
std::span<std::byte> room_for_native(const ChunkInfo& chunk, std::span<std::byte> out,
                                     CodecWorkspace::State& state);
/// From there to `out`, as the chunk wants them.
void hand_over(const ChunkInfo& chunk, std::span<const std::byte> values, std::span<std::byte> out);

/// The same array with at most `most` dimensions: without those of length 1, the slowest merged
/// until few enough remain; at least one. The product stays.
std::vector<std::size_t> merged_shape(const std::vector<Count>& shape, std::size_t most);

/// The least and the largest of values, but for a fill value and what is not finite.
struct Extremes {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  /// Element i is `at(i)`; `fill`: one element in external form, or nothing.
  template <typename T, typename At>
  void add(std::size_t n, const At& at, std::span<const std::byte> fill) {
    T none = std::numeric_limits<T>::quiet_NaN();
    if (fill.size() == sizeof(T)) none = load_be<T>(fill.data());
    T low = std::numeric_limits<T>::infinity(), high = -low;
    for (std::size_t i = 0; i < n; ++i) {
      const T value = at(i);
      if (!(std::fabs(value) <= std::numeric_limits<T>::max()) || value == none) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    least = std::min<double>(least, low);
    most = std::max<double>(most, high);
  }
  bool any() const { return least <= most; }
  /// Largest less smallest, a finite number; 0 where there is none.
  double range() const {
    if (!any()) return 0;
    // Halves, or the range of all numbers would not be one.
    return std::min(most / 2 - least / 2, std::numeric_limits<double>::max() / 2) * 2;
  }
};

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
