// Loops over the values of a patch, in vectors of 32 bytes. Files that include this compile them
// twice, for processors with AVX2 and for all others. Both versions give the same bits: they only
// use sums and products by powers of two, value by value.
#pragma once

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_HAVE_AVX2_LOOPS 1
#endif
#define FOREBAY_INLINE __attribute__((always_inline)) inline

namespace forebay::value_loops {

template <typename T>
struct Lanes {
  static constexpr std::size_t count = 32 / sizeof(T);
  typedef T Values __attribute__((vector_size(32)));
};

/// out[i] = base[i] + (a[i] + b[i]) * factor.
template <typename T>
FOREBAY_INLINE void lift(const T* base, const T* a, const T* b, T factor, T* out, std::size_t n) {
  typename Lanes<T>::Values v, left, right;
  std::size_t i = 0;
  for (; i + Lanes<T>::count <= n; i += Lanes<T>::count) {
    std::memcpy(&v, base + i, sizeof v);
    std::memcpy(&left, a + i, sizeof v);
    std::memcpy(&right, b + i, sizeof v);
    v += (left + right) * factor;
    std::memcpy(out + i, &v, sizeof v);
  }
  for (; i < n; ++i) out[i] = base[i] + (a[i] + b[i]) * factor;
}

/// Separates n values into those at even and those at odd positions.
template <typename T>
FOREBAY_INLINE void part(const T* values, T* even, T* odd, std::size_t n) {
  std::size_t i = 0;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  typename Lanes<T>::Values a, b, e, o;
  for (; i + 2 * Lanes<T>::count <= n; i += 2 * Lanes<T>::count) {
    std::memcpy(&a, values + i, sizeof a);
    std::memcpy(&b, values + i + Lanes<T>::count, sizeof b);
    if constexpr (sizeof(T) == 4) {
      e = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
      o = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
    } else {
      e = __builtin_shufflevector(a, b, 0, 2, 4, 6);
      o = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
    std::memcpy(even + i / 2, &e, sizeof e);
    std::memcpy(odd + i / 2, &o, sizeof o);
  }
#endif
#endif
  for (; i + 1 < n; i += 2) {
    even[i / 2] = values[i];
    odd[i / 2] = values[i + 1];
  }
  if (i < n) even[i / 2] = values[i];
}

template <typename T>
FOREBAY_INLINE void join(const T* even, const T* odd, T* values, std::size_t n) {
  std::size_t i = 0;
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  typename Lanes<T>::Values a, b, e, o;
  for (; i + 2 * Lanes<T>::count <= n; i += 2 * Lanes<T>::count) {
    std::memcpy(&e, even + i / 2, sizeof e);
    std::memcpy(&o, odd + i / 2, sizeof o);
    if constexpr (sizeof(T) == 4) {
      a = __builtin_shufflevector(e, o, 0, 8, 1, 9, 2, 10, 3, 11);
      b = __builtin_shufflevector(e, o, 4, 12, 5, 13, 6, 14, 7, 15);
    } else {
      a = __builtin_shufflevector(e, o, 0, 4, 1, 5);
      b = __builtin_shufflevector(e, o, 2, 6, 3, 7);
    }
    std::memcpy(values + i, &a, sizeof a);
    std::memcpy(values + i + Lanes<T>::count, &b, sizeof b);
  }
#endif
#endif
  for (; i + 1 < n; i += 2) {
    values[i] = even[i / 2];
    values[i + 1] = odd[i / 2];
  }
  if (i < n) values[i] = even[i / 2];
}

/// Returns whether a value equals `what`.
template <typename T>
FOREBAY_INLINE bool holds(const T* values, std::size_t n, T what) {
  typename Lanes<T>::Values v, wanted;
  for (std::size_t k = 0; k < Lanes<T>::count; ++k) wanted[k] = what;
  auto found = wanted < wanted;
  std::size_t i = 0;
  for (; i + Lanes<T>::count <= n; i += Lanes<T>::count) {
    std::memcpy(&v, values + i, sizeof v);
    found |= v == wanted;
  }
  bool any = false;
  for (std::size_t k = 0; k < Lanes<T>::count; ++k) any |= found[k] != 0;
  for (; i < n; ++i) any |= values[i] == what;
  return any;
}

/// Returns the largest magnitude; NaNs do not count.
template <typename T>
FOREBAY_INLINE T largest(const T* values, std::size_t n) {
  typename Lanes<T>::Values most{}, v;
  std::size_t i = 0;
  for (; i + Lanes<T>::count <= n; i += Lanes<T>::count) {
    std::memcpy(&v, values + i, sizeof v);
    v = v < 0 ? -v : v;
    most = v > most ? v : most;
  }
  T all = 0;
  for (std::size_t k = 0; k < Lanes<T>::count; ++k) all = most[k] > all ? most[k] : all;
  for (; i < n; ++i) {
    const T a = values[i] < 0 ? -values[i] : values[i];
    all = a > all ? a : all;
  }
  return all;
}

/// Returns the largest |a[i] - b[i]|, in double precision; infinite if one is not finite.
template <typename T>
FOREBAY_INLINE double difference(const T* a, const T* b, std::size_t n) {
  using Doubles = Lanes<double>::Values;
  using Integers = std::conditional_t<sizeof(T) == 4, int, long long>;
  constexpr std::size_t count = Lanes<double>::count;
  typedef T Few __attribute__((vector_size(count * sizeof(T))));
  static_assert(sizeof(Integers) == sizeof(T));
  constexpr double finite = std::numeric_limits<double>::max();
  Doubles most{};
  Few of_a, of_b;
  std::size_t i = 0;
  bool number = true;
  auto wrong = most > most;  // no lane is set
  for (; i + count <= n; i += count) {
    std::memcpy(&of_a, a + i, sizeof of_a);
    std::memcpy(&of_b, b + i, sizeof of_b);
    Doubles d = __builtin_convertvector(of_a, Doubles) - __builtin_convertvector(of_b, Doubles);
    d = d < 0 ? -d : d;
    most = d > most ? d : most;
    wrong |= ~(d <= finite);
  }
  double all = 0;
  for (std::size_t k = 0; k < count; ++k) {
    all = most[k] > all ? most[k] : all;
    number &= wrong[k] == 0;
  }
  for (; i < n; ++i) {
    double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    d = d < 0 ? -d : d;
    all = d > all ? d : all;
    number &= d <= finite;
  }
  return number ? all : std::numeric_limits<double>::infinity();
}

/// Computes the range of the values. Returns false, with an undefined range, if one is not finite.
template <typename T>
FOREBAY_INLINE bool range(const T* values, std::size_t n, T& least, T& most) {
  typename Lanes<T>::Values low, high, v;
  constexpr T finite = std::numeric_limits<T>::max();
  for (std::size_t k = 0; k < Lanes<T>::count; ++k) low[k] = high[k] = values[0];
  auto good = low <= low;
  bool all_good = true;
  std::size_t i = 0;
  for (; i + Lanes<T>::count <= n; i += Lanes<T>::count) {
    std::memcpy(&v, values + i, sizeof v);
    good &= (v >= -finite) & (v <= finite);
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  least = most = values[0];
  for (std::size_t k = 0; k < Lanes<T>::count; ++k) {
    all_good &= good[k] != 0;
    least = low[k] < least ? low[k] : least;
    most = high[k] > most ? high[k] : most;
  }
  for (; i < n; ++i) {
    all_good &= values[i] >= -finite && values[i] <= finite;
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  return all_good;
}

/// Returns whether the AVX2 versions of loops can run.
inline bool have_avx2() {
#if FOREBAY_HAVE_AVX2_LOOPS
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
#else
  return false;
#endif
}

}  // namespace forebay::value_loops
