// The multilinear B-spline wavelet, CDF 5/3 (Cohen, Daubechies, Feauveau 1992), lifted along each
// axis (Fan et al. 2021, §III-A, §IV-B):
//
//     d[i] = x[2i+1] - (x[2i] + x[2i+2]) / 2        s[i] = x[2i] + (d[i-1] + d[i]) / 4
//
// Values beyond an end are mirrored at the last element. So n elements give ⌈n/2⌉ smooth ones and
// ⌊n/2⌋ details, a patch needs no values of its neighbours, and s[i] stands at the position of
// x[2i]. Only sums and products with powers of two are used, so every processor gives the same
// bits.
#pragma once

#include <array>
#include <cstddef>

namespace forebay::wavelet {

/// Elements along each axis, slowest first; 1 for axes that an array does not have.
using Box = std::array<std::size_t, 3>;

constexpr std::size_t elements(const Box& box) { return box[0] * box[1] * box[2]; }
/// The box halved along each axis, rounded up.
constexpr Box smooth_of(const Box& box) {
  return {(box[0] + 1) / 2, (box[1] + 1) / 2, (box[2] + 1) / 2};
}
/// One of the eight kinds of elements of a transformed array. Its element (z, y, x) is at[z * slice
/// + y * row + x].
template <typename T>
struct Kind {
  T* at = nullptr;
  std::size_t slice = 0, row = 0;
};
/// Bit 2 - a of a kind's number is set if it has details along axis a. Kind 0 is the next level.
template <typename T>
using Kinds = std::array<Kind<T>, 8>;
/// The kinds of one array that holds, along each axis, smooth elements first and then details.
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

/// Elements of scratch memory that both functions need.
std::size_t work_size(const Box& box);
/// With AVX2 vectors if the processor has them, or portable.
enum class Way { quickest, portable };
/// Goes down one level. Arrays must not overlap. T is float or double.
template <typename T>
void split(const T* values, const Box& box, const Kinds<T>& to, T* work, Way way = Way::quickest);
/// Goes up one level. A kind with a null pointer counts as zeros. Returns the largest difference
/// from `exact` (may be null), in double precision, or infinity if one is not finite. `to` may be
/// null: then nothing is kept. Stops early, with a partial result, once the difference exceeds
/// `enough`.
template <typename T>
double merge(const Kinds<const T>& from, const Box& box, T* to, const T* exact, double enough,
             T* work, Way way = Way::quickest);

}  // namespace forebay::wavelet
