#include "codec/wavelet.h"

#include "codec/value_loops.h"

// As FOREBAY_INLINE: a lambda is compiled for the same processor as the loop that calls it.
#define FOREBAY_INLINE_LAMBDA __attribute__((always_inline))

namespace forebay::wavelet {
namespace {

// Rows along the last axis: smooth elements, then details. The vector loops also read the element
// before the first detail; results at the mirrored ends are corrected afterwards.

template <typename T>
FOREBAY_INLINE T lifted(T base, T a, T b, T factor) {
  return base + (a + b) * factor;
}

template <typename T>
struct RowRoom {
  T *even, *odd;
  std::size_t n, low, high;

  RowRoom(T* room, std::size_t length)
      : even(room), odd(room + length + 1), n(length), low((length + 1) / 2), high(length / 2) {}
  static constexpr std::size_t size(std::size_t length) { return 2 * length + 1; }

  FOREBAY_INLINE void split(const T* values, T* to) const {
    value_loops::part(values, even, odd, n);
    if (low == high) even[low] = even[low - 1];
    T* const details = to + low;
    value_loops::lift<T>(odd, even, even + 1, T(-0.5), details, high);
    value_loops::lift<T>(even, details - 1, details, T(0.25), to, high);
    to[0] = lifted(even[0], details[0], details[0], T(0.25));
    if (low > high) to[high] = lifted(even[high], details[high - 1], details[high - 1], T(0.25));
  }
  FOREBAY_INLINE void merge(const T* values, T* to) const {
    const T* const details = values + low;
    value_loops::lift<T>(values, details - 1, details, T(-0.25), even, high);
    even[0] = lifted(values[0], details[0], details[0], T(-0.25));
    even[low] = even[low - 1];
    if (low > high)
      even[high] = lifted(values[high], details[high - 1], details[high - 1], T(-0.25));
    value_loops::lift<T>(details, even, even + 1, T(0.5), odd, high);
    value_loops::join(even, odd, to, n);
  }
};

template <typename T>
FOREBAY_INLINE void copy(const T* from, T* to, std::size_t n) {
  std::memcpy(to, from, n * sizeof(T));
}

/// Scratch memory of slices, which stay in the nearest cache during the work along two axes. Rows
/// are processed one after another, and along the middle axis as soon as their neighbours are
/// there.
template <typename T>
struct SliceRoom {
  const Box& box;
  std::size_t width, low, high, size;  ///< of a row; rows of a slice; of a slice
  T* even[2];                          ///< slices: two neighbours
  T* odd;
  T* rows[4];  ///< two even neighbours, an odd one, and one that is discarded
  T* zeros;
  RowRoom<T> row;

  SliceRoom(const Box& of, T* work)
      : box(of),
        width(of[2]),
        low((of[1] + 1) / 2),
        high(of[1] / 2),
        size(of[1] * of[2]),
        even{work, work + size},
        odd(work + 2 * size),
        rows{odd + size, odd + size + width, odd + size + 2 * width, odd + size + 3 * width},
        zeros(odd + size + 4 * width),
        row(zeros + width, width) {}
  static constexpr std::size_t room(const Box& of) {
    return 3 * of[1] * of[2] + 5 * of[2] + RowRoom<T>::size(of[2]);
  }

  /// Calls f(kind without the bit of the first axis, row of it, offset in a slice, elements).
  template <typename F>
  FOREBAY_INLINE void each_piece(std::size_t y, F&& f) const {
    const std::size_t smooth = (width + 1) / 2, half = y < low ? 0 : 1;
    const std::size_t its = y - half * low;
    f(2 * half, its, y * width, smooth);
    if (width > 1) f(2 * half + 1, its, y * width + smooth, width / 2);
  }
  template <typename U>
  static FOREBAY_INLINE U* at(const Kind<U>& kind, std::size_t z, std::size_t y) {
    return kind.at + z * kind.slice + y * kind.row;
  }

  FOREBAY_INLINE const T* split_row(const T* values, T* to) const {
    if (width == 1) return values;
    row.split(values, to);
    return to;
  }
  FOREBAY_INLINE void split(const T* values, T* to) const {
    const T* left = split_row(values, high > 0 ? rows[0] : to);
    if (high == 0) {
      if (left != to) copy(left, to, width);
      return;
    }
    T* d = nullptr;
    for (std::size_t i = 0; i < high; ++i) {
      const T* const middle = split_row(values + (2 * i + 1) * width, rows[2]);
      const T* right = left;
      if (2 * i + 2 < box[1]) right = split_row(values + (2 * i + 2) * width, rows[(i + 1) % 2]);
      d = to + (low + i) * width;
      value_loops::lift<T>(middle, left, right, T(-0.5), d, width);
      value_loops::lift<T>(left, i > 0 ? d - width : d, d, T(0.25), to + i * width, width);
      left = right;
    }
    if (low > high) value_loops::lift<T>(left, d, d, T(0.25), to + high * width, width);
  }

  /// `row_of` makes each row of a slice once. `put` gets the resulting rows, in any order.
  template <typename F, typename G>
  FOREBAY_INLINE void merge(F&& row_of, G&& put) const {
    if (high == 0) return put(0, row_of(0));
    const T* before = nullptr;
    for (std::size_t i = 0; i < low; ++i) {
      const T* const d = i < high ? row_of(low + i) : before;
      T* const now = rows[i % 2];
      value_loops::lift<T>(row_of(i), i > 0 ? before : d, d, T(-0.25), now, width);
      if (i > 0) {
        value_loops::lift<T>(before, rows[(i - 1) % 2], now, T(0.5), rows[2], width);
        put(2 * i - 1, static_cast<const T*>(rows[2]));
      }
      put(2 * i, static_cast<const T*>(now));
      before = d;
    }
    if (low > high) return;
    const T* const last = rows[(low - 1) % 2];
    value_loops::lift<T>(before, last, last, T(0.5), rows[2], width);
    put(2 * low - 1, static_cast<const T*>(rows[2]));
  }
};

// Processes slice after slice, and along the slowest axis as soon as the neighbours are there.
template <typename T>
FOREBAY_INLINE void split_all(const T* values, const Box& box, const Kinds<T>& to, T* work) {
  using Room = SliceRoom<T>;
  const Room room(box, work);
  const auto split_slice = [&](std::size_t z, T* slice)
                               FOREBAY_INLINE_LAMBDA { room.split(values + z * room.size, slice); };
  const std::size_t low = (box[0] + 1) / 2, high = box[0] / 2;
  split_slice(0, room.even[0]);
  for (std::size_t i = 0; i < low; ++i) {
    const T* const left = room.even[i % 2];
    const T* right = left;
    if (i < high) split_slice(2 * i + 1, room.odd);
    if (2 * i + 2 < box[0]) {
      split_slice(2 * i + 2, room.even[(i + 1) % 2]);
      right = room.even[(i + 1) % 2];
    }
    const std::size_t now = i < high ? i : high - 1, before = i > 0 ? i - 1 : 0;
    for (std::size_t y = 0; y < box[1]; ++y) {
      room.each_piece(y, [&](std::size_t kind, std::size_t its, std::size_t from,
                             std::size_t n) FOREBAY_INLINE_LAMBDA {
        T* const smooth = Room::at(to[kind], i, its);
        if (high == 0) return copy(left + from, smooth, n);
        const Kind<T>& details = to[4 + kind];
        T* const d = Room::at(details, now, its);
        if (i < high)
          value_loops::lift<T>(room.odd + from, left + from, right + from, T(-0.5), d, n);
        value_loops::lift<T>(left + from, Room::at(details, before, its), d, T(0.25), smooth, n);
      });
    }
  }
}

/// The destination of rows, and the values to compare them with; either may be null.
template <typename T>
struct Merged {
  T* to;
  const T* exact;
  double difference = 0;

  FOREBAY_INLINE void put(const SliceRoom<T>& room, std::size_t at, const T* values) {
    const T* got = values;
    T* const kept = to != nullptr ? to + at : room.rows[3];
    if (room.width > 1) {
      room.row.merge(values, kept);
      got = kept;
    } else if (to != nullptr) {
      copy(values, kept, room.width);
    }
    if (exact == nullptr) return;
    const double its = value_loops::difference(got, exact + at, room.width);
    difference = its > difference ? its : difference;
  }
};

template <typename T>
FOREBAY_INLINE double merge_all(const Kinds<const T>& kinds, const Box& box, T* to, const T* exact,
                                double enough, T* work) {
  using Room = SliceRoom<T>;
  const Room room(box, work);
  Merged<T> merged{to, exact};
  Kinds<const T> from = kinds;
  for (auto& kind : from)
    if (kind.at == nullptr) kind = {room.zeros, 0, 0};
  for (std::size_t x = 0; x < room.width; ++x) room.zeros[x] = 0;
  const auto merge_slice = [&](std::size_t z, T* slice, auto&& make) FOREBAY_INLINE_LAMBDA {
    room.merge(
        [&](std::size_t y) FOREBAY_INLINE_LAMBDA -> const T* {
          room.each_piece(y, make);
          return slice + y * room.width;
        },
        [&](std::size_t y, const T* row)
            FOREBAY_INLINE_LAMBDA { merged.put(room, z * room.size + y * room.width, row); });
  };
  const std::size_t low = (box[0] + 1) / 2, high = box[0] / 2;
  for (std::size_t i = 0; i < low + 1 && merged.difference <= enough; ++i) {
    T* const now = room.even[i % 2];
    if (i < low) {
      const std::size_t left = i > 0 ? i - 1 : 0, right = i < high ? i : high - 1;
      merge_slice(2 * i, now,
                  [&](std::size_t kind, std::size_t its, std::size_t at, std::size_t n)
                      FOREBAY_INLINE_LAMBDA {
                        const T* const smooth = Room::at(from[kind], i, its);
                        if (high == 0) return copy(smooth, now + at, n);
                        const Kind<const T>& details = from[4 + kind];
                        value_loops::lift<T>(smooth, Room::at(details, left, its),
                                             Room::at(details, right, its), T(-0.25), now + at, n);
                      });
    }
    // The odd slice before this even one. The first even slice has none before it; after the last
    // slice nothing follows.
    if (i == 0 || i > high) continue;
    const T* const before = room.even[(i - 1) % 2];
    const T* const behind = i < low ? now : before;
    merge_slice(2 * i - 1, room.odd,
                [&](std::size_t kind, std::size_t its, std::size_t at, std::size_t n)
                    FOREBAY_INLINE_LAMBDA {
                      value_loops::lift<T>(Room::at(from[4 + kind], i - 1, its), before + at,
                                           behind + at, T(0.5), room.odd + at, n);
                    });
  }
  return merged.difference;
}

#if FOREBAY_HAVE_AVX2_LOOPS
template <typename T>
__attribute__((target("avx2"))) void split_avx2(const T* values, const Box& box, const Kinds<T>& to,
                                                T* work) {
  split_all(values, box, to, work);
}
template <typename T>
__attribute__((target("avx2"))) double merge_avx2(const Kinds<const T>& from, const Box& box, T* to,
                                                  const T* exact, double enough, T* work) {
  return merge_all(from, box, to, exact, enough, work);
}
#endif

}  // namespace

std::size_t work_size(const Box& box) { return SliceRoom<double>::room(box); }

template <typename T>
void split(const T* values, const Box& box, const Kinds<T>& to, T* work, [[maybe_unused]] Way way) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (way == Way::quickest && value_loops::have_avx2()) return split_avx2(values, box, to, work);
#endif
  split_all(values, box, to, work);
}

template <typename T>
double merge(const Kinds<const T>& from, const Box& box, T* to, const T* exact, double enough,
             T* work, [[maybe_unused]] Way way) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (way == Way::quickest && value_loops::have_avx2())
    return merge_avx2(from, box, to, exact, enough, work);
#endif
  return merge_all(from, box, to, exact, enough, work);
}

template void split(const float*, const Box&, const Kinds<float>&, float*, Way);
template void split(const double*, const Box&, const Kinds<double>&, double*, Way);
template double merge(const Kinds<const float>&, const Box&, float*, const float*, double, float*,
                      Way);
template double merge(const Kinds<const double>&, const Box&, double*, const double*, double,
                      double*, Way);

}  // namespace forebay::wavelet
