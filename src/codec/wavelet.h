// The multilinear B-spline wavelet, CDF 5/3 (Cohen, Daubechies, Feauveau 1992), lifted along each
// axis (H §III-A, IV-B):
//
//     d[i] = x[2i+1] - (x[2i] + x[2i+2]) / 2        s[i] = x[2i] + (d[i-1] + d[i]) / 4
//
// Beyond an end values are those of the mirror whose glass lies on the last element, so that any n
// elements give ⌈n/2⌉ smooth ones and ⌊n/2⌋ details, a patch needs nobody else's values, and s[i]
// stands where x[2i] does. Sums, and products with powers of two: the same bits from any processor.
#pragma once

#include <array>
#include <cstddef>

namespace forebay::wavelet {

/// Elements along each axis, slowest first; 1 for those that an array has not.
using Box = std::array<std::size_t, 3>;

constexpr std::size_t elements(const Box& box) { return box[0] * box[1] * box[2]; }
/// The same, halved along each axis, rounded up.
constexpr Box smooth_of(const Box& box) {
  return {(box[0] + 1) / 2, (box[1] + 1) / 2, (box[2] + 1) / 2};
}
/// One of the eight kinds of elements that a transformed array has: element (z, y, x) of it is
/// at[z * slice + y * row + x].
template <typename T>
struct Kind {
  T* at = nullptr;
  std::size_t slice = 0, row = 0;
};
/// Bit 2 - a of a kind's number is set where it has details along axis a: 0 is the next level.
template <typename T>
using Kinds = std::array<Kind<T>, 8>;
/// Those of one array, where smooth elements come first along each axis, then details.
template <typename T>
Kinds<T> kinds_of(T* array, const Box& box) {
  const Box low = smooth_of(box);
  Kinds<T> kinds;
  for (unsigned k = 0; k < kinds.size(); ++k) {
    const Box first{k & 4 ? low[0] : 0, k & 2 ? low[1] : 0, k & 1 ? low[2] : 0};
    kinds[k] = {array + (first[0] * box[1] + first[1]) * box[2] + first[2], box[1] * box[2],
                box[2]};
  }
  return kinds;
}

/// Elements of room that both functions work in.
std::size_t work_size(const Box& box);
/// By vectors, where the processor has AVX2, or by what all have.
enum class Way { quickest, portable };
/// One level down. Arrays do not overlap. T is float or double.
template <typename T>
void split(const T* values, const Box& box, const Kinds<T>& to, T* work, Way way = Way::quickest);
/// And back, of kinds that are zeros where they are nowhere. Returns the largest difference from
/// `exact`, which may be null, in double precision, infinite where one is no finite number; `to`
/// may be null: nothing is kept. Gives up, in the midst of things, once the difference is more than
/// `enough`.
template <typename T>
double merge(const Kinds<const T>& from, const Box& box, T* to, const T* exact, double enough,
             T* work, Way way = Way::quickest);

}  // namespace forebay::wavelet
