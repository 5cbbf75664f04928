#include "groups/process_group/range.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_RANGE_AVX2 1
#endif

namespace forebay::process_group {

namespace {

// Number of independent results, so that the compiler can use vectors.
constexpr std::size_t lanes = 32;
// Bytes that stay in the first-level cache between their copy and their comparison.
constexpr std::size_t part_bytes = 16 << 10;

template <typename T, Measure measure>
class Bounds {
 public:
  Bounds() {
    std::fill_n(min_, lanes, above());
    std::fill_n(max_, lanes, below());
  }

  [[gnu::always_inline]] void add(const std::byte* from, std::size_t n) {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      T v[lanes];
      std::memcpy(v, from + i * sizeof(T), sizeof v);
      for (std::size_t l = 0; l < lanes; ++l) take(v[l], l);
    }
    for (; i < n; ++i) {
      T v;
      std::memcpy(&v, from + i * sizeof(T), sizeof v);
      take(v, 0);
    }
  }

  Range range() const {
    const T min = *std::min_element(min_, min_ + lanes),
            max = *std::max_element(max_, max_ + lanes);
    Range range;
    range.any = min <= max;
    std::memcpy(range.min.data(), &min, sizeof min);
    std::memcpy(range.max.data(), &max, sizeof max);
    if constexpr (measure == Measure::moments) {
      for (std::size_t l = 0; l < lanes; ++l) {
        range.moments.count += count_[l];
        range.moments.sum += sum_[l];
        range.moments.squares += squares_[l];
      }
    }
    return range;
  }

 private:
  using Limits = std::numeric_limits<T>;
  static constexpr T above() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static constexpr T below() {
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }

  // Comparisons with NaN are false; infinities fail the second comparison. No branches.
  [[gnu::always_inline]] void take(T v, std::size_t lane) {
    min_[lane] = (v < min_[lane]) & (v >= Limits::lowest()) ? v : min_[lane];
    max_[lane] = (v > max_[lane]) & (v <= Limits::max()) ? v : max_[lane];
    if constexpr (measure == Measure::moments) {
      const bool counts = (v >= Limits::lowest()) & (v <= Limits::max());
      const double number = counts ? static_cast<double>(v) : 0.0;
      count_[lane] += counts;
      sum_[lane] += number;
      squares_[lane] += number * number;
    }
  }

  T min_[lanes], max_[lanes];
  std::int64_t count_[lanes] = {};
  double sum_[lanes] = {}, squares_[lanes] = {};
};

template <typename T, Measure measure>
[[gnu::always_inline]] inline Range any_processor(std::span<const std::byte> elements,
                                                  std::byte* to) {
  Bounds<T, measure> bounds;
  while (!elements.empty()) {
    const auto part = elements.first(std::min(part_bytes, elements.size()));
    if (to) {
      std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
    bounds.add(part.data(), part.size() / sizeof(T));
    elements = elements.subspan(part.size());
  }
  return bounds.range();
}

// Without AVX2 vectors the comparison takes as long as the memory access. The sums are equal.
#if FOREBAY_RANGE_AVX2
template <typename T, Measure measure>
[[gnu::target("avx2")]] Range with_avx2(std::span<const std::byte> elements, std::byte* to) {
  return any_processor<T, measure>(elements, to);
}
#endif

template <typename T, Measure measure>
Range pass(std::span<const std::byte> elements, std::byte* to) {
#if FOREBAY_RANGE_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return with_avx2<T, measure>(elements, to);
#endif
  return any_processor<T, measure>(elements, to);
}

Range any_pass(bp::Type type, std::span<const std::byte> elements, std::byte* to, Measure measure) {
  Range range;
  const bool is_number = bp::with_number(type, [&](auto kind) {
    range = measure == Measure::moments ? pass<decltype(kind), Measure::moments>(elements, to)
                                        : pass<decltype(kind), Measure::bounds>(elements, to);
  });
  if (!is_number && to && !elements.empty()) std::memcpy(to, elements.data(), elements.size());
  return range;
}

}  // namespace

Range range_of(bp::Type type, std::span<const std::byte> elements, Measure measure) {
  return any_pass(type, elements, nullptr, measure);
}

Range copy_with_range(bp::Type type, std::span<const std::byte> elements, std::byte* to,
                      Measure measure) {
  return any_pass(type, elements, to, measure);
}

Range together(bp::Type type, const Range& a, const Range& b) {
  if (!a.any) return b;
  if (!b.any) return a;
  std::vector<std::byte> bounds;
  for (const bp::Value* value : {&a.min, &a.max, &b.min, &b.max})
    bounds.insert(bounds.end(), value->begin(), value->begin() + bp::size_of(type));
  return range_of(type, bounds);
}

}  // namespace forebay::process_group
