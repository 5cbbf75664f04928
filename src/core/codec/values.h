// Shared by the codecs that look at values: native elements of a chunk, its shape in few
// dimensions, the range of its values, and the check of an absolute bound.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "base/byteorder.h"
#include "codec/codec_stage.h"
#include "codec/missing_values.h"

namespace forebay {

/// Returns the elements in native order, in state.values or in place.
std::span<const std::byte> native_values(const StageInput& in, CodecWorkspace::State& state);

/// Returns the buffer for decoded native elements: state.values, or `out` itself.
std::span<std::byte> room_for_native(const ChunkInfo& chunk, std::span<std::byte> out,
                                     CodecWorkspace::State& state);
/// Copies them from that buffer to `out`, in the byte order that the chunk asks for.
void hand_over(const ChunkInfo& chunk, std::span<const std::byte> values, std::span<std::byte> out);

/// The same array with at most `most` dimensions (at least one). Lengths of 1 are dropped, and the
/// slowest dimensions are merged until few enough remain. The product stays the same.
std::vector<std::size_t> merged_shape(const std::vector<Count>& shape, std::size_t most);

/// The range of values by magnitude. It separates outliers from other values, such as fill values
/// on land that no attribute names. Several can be merged, in any order.
class Extremes {
 public:
  static constexpr int large = 65536;  ///< smaller magnitudes are never outliers
  /// One bin for all smaller magnitudes, then eight for positive and eight for negative values,
  /// each of which covers a factor of 2^16. The last one also has all larger values.
  static constexpr std::size_t bins = 17;

  struct Ordinary {
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    /// Values whose magnitude is at least 10,000 times that of all others, one of each magnitude
    /// and sign. (A value with others near it is ordinary, even if it is that large.)
    std::vector<double> outliers;

    bool any() const { return least <= most; }
    /// Largest minus smallest, a finite number; 0 if there is none.
    double range() const {
      if (!any()) return 0;
      // Halves avoid an overflow of the difference.
      return std::min(most / 2 - least / 2, std::numeric_limits<double>::max() / 2) * 2;
    }
  };

  Extremes() {
    least_.fill(std::numeric_limits<double>::infinity());
    most_.fill(-std::numeric_limits<double>::infinity());
  }
  /// Element i is `at(i)`; missing ones do not count.
  template <typename T, typename At>
  void add(std::size_t n, const At& at, const MissingTest<T>& is_missing) {
    T low = std::numeric_limits<T>::infinity(), high = -low;
    for (std::size_t i = 0; i < n; ++i) {
      const T value = at(i);
      if (is_missing(value)) continue;
      if (std::fabs(value) < T(large)) {
        low = std::min(low, value);
        high = std::max(high, value);
      } else {
        add_large(static_cast<double>(value));
      }
    }
    least_[0] = std::min<double>(least_[0], low);
    most_[0] = std::max<double>(most_[0], high);
  }
  Ordinary ordinary() const;

  /// The least and the negated largest value of each bin. An element-wise minimum merges several.
  std::array<double, 2 * bins> numbers() const;
  static Extremes of_numbers(std::span<const double> numbers);

 private:
  void add_large(double value);

  std::array<double, bins> least_, most_;
};

/// Returns whether |x| <= limit for all elements; false if one is NaN.
template <typename T>
bool all_at_most(const T* values, std::size_t n, T limit) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i) all &= std::fabs(values[i]) <= limit;
  return all;
}

/// Returns whether |x - y| <= bound for all elements, in double precision; false for values that
/// are not finite.
template <typename T>
bool all_within(const T* x, const T* y, std::size_t n, double bound) {
  bool all = true;
  for (std::size_t i = 0; i < n; ++i)
    all &= std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) <= bound;
  return all;
}

}  // namespace forebay
