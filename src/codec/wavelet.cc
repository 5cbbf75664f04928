#include "codec/wavelet.h"

#include <algorithm>

#include "codec/value_loops.h"

namespace forebay::wavelet {
namespace {

// An axis is `n` rows of `row` elements that follow each other; the last axis has rows of one.

template <typename T>
FOREBAY_INLINE void split_rows(const T* values, std::size_t n, std::size_t row, T* to) {
  const std::size_t low = (n + 1) / 2, high = n / 2;
  T* const details = to + low * row;
  for (std::size_t i = 0; i < high; ++i) {
    const T* const left = values + 2 * i * row;
    const T* const right = 2 * i + 2 < n ? left + 2 * row : left;
    value_loops::lift(left + row, left, right, T(-0.5), details + i * row, row);
  }
  for (std::size_t i = 0; i < low; ++i) {
    const T* const left = details + (i > 0 ? i - 1 : 0) * row;
    const T* const right = details + (i < high ? i : high - 1) * row;
    value_loops::lift(values + 2 * i * row, left, right, T(0.25), to + i * row, row);
  }
}

template <typename T>
FOREBAY_INLINE void merge_rows(const T* values, std::size_t n, std::size_t row, T* to) {
  const std::size_t low = (n + 1) / 2, high = n / 2;
  const T* const details = values + low * row;
  for (std::size_t i = 0; i < low; ++i) {
    const T* const left = details + (i > 0 ? i - 1 : 0) * row;
    const T* const right = details + (i < high ? i : high - 1) * row;
    value_loops::lift(values + i * row, left, right, T(-0.25), to + 2 * i * row, row);
  }
  for (std::size_t i = 0; i < high; ++i) {
    const T* const left = to + 2 * i * row;
    const T* const right = 2 * i + 2 < n ? left + 2 * row : left;
    value_loops::lift(values + (low + i) * row, left, right, T(0.5), to + (2 * i + 1) * row, row);
  }
}

/// Room for one row along the last axis: its even and odd elements, and details, with what is
/// mirrored at the ends.
template <typename T>
struct RowRoom {
  T *even, *odd, *details;
  std::size_t low, high;

  RowRoom(T* room, std::size_t n)
      : even(room), odd(even + n), details(odd + n), low((n + 1) / 2), high(n / 2) {}
  static constexpr std::size_t size(std::size_t n) { return 3 * n + 2; }
  FOREBAY_INLINE void mirror_even() const {
    if (low == high) even[low] = even[low - 1];
  }
  FOREBAY_INLINE void mirror_details() const {
    details[0] = details[1];
    details[high + 1] = details[high];
  }
};

template <typename T>
FOREBAY_INLINE void split_row(const T* values, std::size_t n, T* to, const RowRoom<T>& room) {
  value_loops::part(values, room.even, room.odd, n);
  room.mirror_even();
  value_loops::lift(room.odd, room.even, room.even + 1, T(-0.5), room.details + 1, room.high);
  room.mirror_details();
  value_loops::lift(room.even, room.details, room.details + 1, T(0.25), to, room.low);
  for (std::size_t i = 0; i < room.high; ++i) to[room.low + i] = room.details[1 + i];
}

template <typename T>
FOREBAY_INLINE void merge_row(const T* values, std::size_t n, T* to, const RowRoom<T>& room) {
  for (std::size_t i = 0; i < room.high; ++i) room.details[1 + i] = values[room.low + i];
  room.mirror_details();
  value_loops::lift(values, room.details, room.details + 1, T(-0.25), room.even, room.low);
  room.mirror_even();
  value_loops::lift(values + room.low, room.even, room.even + 1, T(0.5), room.odd, room.high);
  value_loops::join(room.even, room.odd, to, n);
}

template <typename T>
FOREBAY_INLINE void copy(const T* from, T* to, std::size_t n) {
  std::memcpy(to, from, n * sizeof(T));
}

/// The two axes of a slice, which caches hold.
template <typename T>
struct SliceRoom {
  const Box& box;
  std::size_t size;  ///< of a slice
  T* even[2];        ///< slices: two neighbours
  T *odd, *one, *spare;
  RowRoom<T> row;

  SliceRoom(const Box& of, T* work)
      : box(of),
        size(of[1] * of[2]),
        even{work, work + size},
        odd(work + 2 * size),
        one(work + 3 * size),
        spare(work + 4 * size),
        row(work + 5 * size, of[2]) {}

  FOREBAY_INLINE void split(const T* values, T* to) const {
    const T* of = values;
    if (box[2] > 1) {
      T* const rows = box[1] > 1 ? one : to;
      for (std::size_t y = 0; y < box[1]; ++y)
        split_row(values + y * box[2], box[2], rows + y * box[2], row);
      of = rows;
    }
    if (box[1] > 1)
      split_rows(of, box[1], box[2], to);
    else if (of != to)
      copy(of, to, size);
  }
  FOREBAY_INLINE void merge(const T* values, T* to) const {
    const T* of = values;
    if (box[1] > 1) {
      T* const rows = box[2] > 1 ? one : to;
      merge_rows(values, box[1], box[2], rows);
      of = rows;
    }
    if (box[2] > 1) {
      for (std::size_t y = 0; y < box[1]; ++y)
        merge_row(of + y * box[2], box[2], to + y * box[2], row);
    } else if (of != to) {
      copy(of, to, size);
    }
  }
};

// Slices one after the other, each along the slowest axis as soon as its neighbours are there.
template <typename T>
FOREBAY_INLINE void split_all(const T* values, const Box& box, T* to, T* work) {
  const SliceRoom<T> room(box, work);
  if (box[0] == 1) return room.split(values, to);
  const std::size_t low = (box[0] + 1) / 2, high = box[0] / 2, slice = room.size;
  T* const details = to + low * slice;
  room.split(values, room.even[0]);
  for (std::size_t i = 0; i < high; ++i) {
    const T* const left = room.even[i % 2];
    const T* right = left;
    room.split(values + (2 * i + 1) * slice, room.odd);
    if (2 * i + 2 < box[0]) {
      room.split(values + (2 * i + 2) * slice, room.even[(i + 1) % 2]);
      right = room.even[(i + 1) % 2];
    }
    T* const d = details + i * slice;
    value_loops::lift<T>(room.odd, left, right, T(-0.5), d, slice);
    value_loops::lift<T>(left, i > 0 ? d - slice : d, d, T(0.25), to + i * slice, slice);
  }
  const T* const last = details + (high - 1) * slice;
  if (low > high)
    value_loops::lift<T>(room.even[high % 2], last, last, T(0.25), to + high * slice, slice);
}

/// Where slices go, in order, and what they are compared with; either may be nothing.
template <typename T>
struct Merged {
  T* to;
  const T* exact;
  double difference = 0;

  FOREBAY_INLINE void put(const SliceRoom<T>& room, const T* values, std::size_t z) {
    T* const slice = to != nullptr ? to + z * room.size : room.spare;
    room.merge(values, slice);
    if (exact == nullptr) return;
    const double its = value_loops::difference(slice, exact + z * room.size, room.size);
    difference = its > difference ? its : difference;
  }
};

template <typename T>
FOREBAY_INLINE double merge_all(const T* values, const Box& box, T* to, const T* exact,
                                double enough, T* work) {
  const SliceRoom<T> room(box, work);
  Merged<T> merged{to, exact};
  if (box[0] == 1) {
    merged.put(room, values, 0);
    return merged.difference;
  }
  const std::size_t low = (box[0] + 1) / 2, high = box[0] / 2, slice = room.size;
  const T* const details = values + low * slice;
  for (std::size_t i = 0; i < low + 1 && merged.difference <= enough; ++i) {
    // The odd slice behind an even one needs the next even one, which the last has not.
    T* const now = room.even[i % 2];
    if (i < low) {
      const T* const left = details + (i > 0 ? i - 1 : 0) * slice;
      const T* const right = details + (i < high ? i : high - 1) * slice;
      value_loops::lift<T>(values + i * slice, left, right, T(-0.25), now, slice);
    }
    if (i > 0 && i <= high) {
      const T* const before = room.even[(i - 1) % 2];
      value_loops::lift<T>(details + (i - 1) * slice, before, i < low ? now : before, T(0.5),
                           room.odd, slice);
      merged.put(room, room.odd, 2 * i - 1);
    }
    if (i < low) merged.put(room, now, 2 * i);
  }
  return merged.difference;
}

#if FOREBAY_HAVE_AVX2_LOOPS
template <typename T>
__attribute__((target("avx2"))) void split_avx2(const T* values, const Box& box, T* to, T* work) {
  split_all(values, box, to, work);
}
template <typename T>
__attribute__((target("avx2"))) double merge_avx2(const T* values, const Box& box, T* to,
                                                  const T* exact, double enough, T* work) {
  return merge_all(values, box, to, exact, enough, work);
}
#endif

}  // namespace

std::size_t work_size(const Box& box) {
  return 5 * box[1] * box[2] + RowRoom<double>::size(box[2]);
}

template <typename T>
void split(const T* values, const Box& box, T* to, T* work, [[maybe_unused]] Way way) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (way == Way::quickest && value_loops::have_avx2()) return split_avx2(values, box, to, work);
#endif
  split_all(values, box, to, work);
}

template <typename T>
double merge(const T* values, const Box& box, T* to, const T* exact, double enough, T* work,
             [[maybe_unused]] Way way) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (way == Way::quickest && value_loops::have_avx2())
    return merge_avx2(values, box, to, exact, enough, work);
#endif
  return merge_all(values, box, to, exact, enough, work);
}

template void split(const float*, const Box&, float*, float*, Way);
template void split(const double*, const Box&, double*, double*, Way);
template double merge(const float*, const Box&, float*, const float*, double, float*, Way);
template double merge(const double*, const Box&, double*, const double*, double, double*, Way);

}  // namespace forebay::wavelet
