#include "codec/wavelet.h"

#include <algorithm>

namespace forebay::wavelet {
namespace {

// An axis is `n` rows of `row` elements that follow each other; the last axis has rows of one.

template <typename T>
void split_rows(T* values, std::size_t n, std::size_t row, T* scratch) {
  const std::size_t low = (n + 1) / 2, high = n / 2;
  T* const details = scratch + low * row;
  for (std::size_t i = 0; i < high; ++i) {
    const T* const left = values + 2 * i * row;
    const T* const right = 2 * i + 2 < n ? left + 2 * row : left;
    const T* const odd = left + row;
    T* const d = details + i * row;
    for (std::size_t k = 0; k < row; ++k) d[k] = odd[k] - (left[k] + right[k]) * T(0.5);
  }
  for (std::size_t i = 0; i < low; ++i) {
    const T* const even = values + 2 * i * row;
    const T* const left = details + (i > 0 ? i - 1 : 0) * row;
    const T* const right = details + (i < high ? i : high - 1) * row;
    T* const s = scratch + i * row;
    for (std::size_t k = 0; k < row; ++k) s[k] = even[k] + (left[k] + right[k]) * T(0.25);
  }
  std::copy_n(scratch, n * row, values);
}

template <typename T>
void merge_rows(T* values, std::size_t n, std::size_t row, T* scratch) {
  const std::size_t low = (n + 1) / 2, high = n / 2;
  const T* const details = values + low * row;
  for (std::size_t i = 0; i < low; ++i) {
    const T* const s = values + i * row;
    const T* const left = details + (i > 0 ? i - 1 : 0) * row;
    const T* const right = details + (i < high ? i : high - 1) * row;
    T* const even = scratch + 2 * i * row;
    for (std::size_t k = 0; k < row; ++k) even[k] = s[k] - (left[k] + right[k]) * T(0.25);
  }
  for (std::size_t i = 0; i < high; ++i) {
    const T* const d = details + i * row;
    const T* const left = scratch + 2 * i * row;
    const T* const right = 2 * i + 2 < n ? left + 2 * row : left;
    T* const odd = scratch + (2 * i + 1) * row;
    for (std::size_t k = 0; k < row; ++k) odd[k] = d[k] + (left[k] + right[k]) * T(0.5);
  }
  std::copy_n(scratch, n * row, values);
}

// Calls f for each array of n rows that an axis has.
template <typename F>
void each(const Box& box, std::size_t axis, F&& f) {
  const std::size_t n = box[axis];
  if (n == 1) return;
  std::size_t row = 1;
  for (std::size_t a = axis + 1; a < box.size(); ++a) row *= box[a];
  for (std::size_t at = 0; at < elements(box); at += n * row) f(at, n, row);
}

}  // namespace

template <typename T>
void split(T* values, const Box& box, T* scratch) {
  for (std::size_t axis = box.size(); axis-- > 0;)
    each(box, axis, [&](std::size_t at, std::size_t n, std::size_t row) {
      split_rows(values + at, n, row, scratch);
    });
}

template <typename T>
void merge(T* values, const Box& box, T* scratch) {
  for (std::size_t axis = 0; axis < box.size(); ++axis)
    each(box, axis, [&](std::size_t at, std::size_t n, std::size_t row) {
      merge_rows(values + at, n, row, scratch);
    });
}

template void split(float*, const Box&, float*);
template void split(double*, const Box&, double*);
template void merge(float*, const Box&, float*);
template void merge(double*, const Box&, double*);

}  // namespace forebay::wavelet
