// Missing elements of arrays that are transformed and truncated. They are replaced by values that
// fit their surroundings, and a mask records where they were.
//
// An element is missing if the attributes of its variable say so (MissingRule), if it is not
// finite, or if it is far away from all other values (Extremes::outliers()). Fill values on land
// are such outliers where no attribute names them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "array/missing.h"
#include "codec/pipeline.h"
#include "codec/wavelet.h"

namespace forebay {

/// Tells which values of a type are missing. A copy of a rule, for loops over values.
template <typename T>
struct MissingTest {
  std::vector<T> values;  ///< finite missing values
  T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  bool as_float = false;

  MissingTest() = default;
  /// `fill` is one element in external form, or empty. `rule` may be null.
  explicit MissingTest(const MissingRule* rule, std::span<const std::byte> fill = {});
  bool operator()(T v) const {
    if (!(v >= least && v <= most)) return true;
    for (const T m : values)
      if (v == m || (as_float && static_cast<float>(v) == static_cast<float>(m))) return true;
    return false;
  }
};

/// The missing values of a chunk, and the range of its other values.
template <typename T>
struct MissingValues {
  MissingTest<T> is_missing;
  bool any = false;       ///< some values are missing
  T least = 0, most = 0;  ///< range of the others; least > most if there are none

  /// Looks at all values of a chunk. From then on, outliers count as missing.
  MissingValues(const ChunkInfo& chunk, std::span<const T> values);
};

/// Compares a bound with the spread of most values: the distance between the 5th and the 95th
/// percentile of a sample.
template <typename T>
EncodedChunk::Bound compare_with_spread(double bound, std::span<const T> values,
                                        const MissingTest<T>& is_missing);

/// Computes the range of the values. Returns false, with an undefined range, if one is not finite.
template <typename T>
bool finite_range(std::span<const T> values, T& least, T& most);
/// Returns whether a value equals `what`.
template <typename T>
bool holds(std::span<const T> values, T what);

/// The state of an element. Numbers from `listed` on are positions in a table of missing values.
enum class Missing : std::uint8_t { no, fill, not_a_number, plus_infinity, minus_infinity, listed };
constexpr std::size_t most_listed = 255 - static_cast<std::size_t>(Missing::listed);

/// Marks the missing elements: the fill value by its bits (null: there is none), values that are
/// not finite, and values that are added to `table`, which holds each bit pattern once. Returns
/// false if the table is too small; the elements that do not fit are marked with its last entry.
template <typename T>
bool find_missing(std::span<const T> values, const MissingTest<T>& is_missing, const T* fill,
                  std::vector<Missing>& mask, std::vector<T>& table);

/// Replaces missing elements by averages of the nearest valid ones, or by zero if there are none.
template <typename T>
void fill_in(std::span<T> values, const wavelet::Box& box, std::span<const Missing> mask);

/// The mask of the next coarser level. An element is missing if all elements that it covers are.
std::vector<Missing> coarser(std::span<const Missing> mask, const wavelet::Box& box);

/// The value of a missing element.
template <typename T>
T value_of(Missing missing, const T* fill, std::span<const T> table);

}  // namespace forebay
