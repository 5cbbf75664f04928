#include "codec/missing_values.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/byteorder.h"
#include "codec/value_loops.h"
#include "codec/values.h"

namespace forebay {
namespace {

using wavelet::Box;

// Calls f(fine index, coarse index) for every element of a box.
template <typename F>
void each_with_coarse(const Box& box, F&& f) {
  const Box half = wavelet::smooth_of(box);
  std::size_t fine = 0;
  for (std::size_t z = 0; z < box[0]; ++z) {
    for (std::size_t y = 0; y < box[1]; ++y) {
      const std::size_t row = (z / 2 * half[1] + y / 2) * half[2];
      for (std::size_t x = 0; x < box[2]; ++x) f(fine++, row + x / 2);
    }
  }
}

// Goes down with means over the valid elements of 2 × 2 × 2, then up with the mean of the coarse
// element.
template <typename T>
void pull_and_push(std::span<T> values, std::span<float> weights, const Box& box) {
  bool whole = true, none = true;
  for (const float w : weights) whole &= w > 0, none &= w == 0;
  if (whole) return;
  if (none) {
    std::fill(values.begin(), values.end(), T(0));
    return;
  }
  const Box half = wavelet::smooth_of(box);
  std::vector<T> means(wavelet::elements(half));
  std::vector<float> counts(means.size());
  each_with_coarse(box, [&](std::size_t fine, std::size_t coarse) {
    if (weights[fine] == 0) return;
    // A running mean: a sum of eight values might overflow.
    counts[coarse] += 1;
    means[coarse] += (values[fine] - means[coarse]) / static_cast<T>(counts[coarse]);
  });
  pull_and_push(std::span<T>(means), std::span<float>(counts), half);
  each_with_coarse(box, [&](std::size_t fine, std::size_t coarse) {
    if (weights[fine] == 0) values[fine] = means[coarse];
  });
}

template <typename T>
auto bits_of(T value) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
}

// Loops of value_loops, compiled for AVX2 and for other processors.
#if FOREBAY_HAVE_AVX2_LOOPS
template <typename T>
__attribute__((target("avx2"))) bool holds_avx2(const T* values, std::size_t n, T what) {
  return value_loops::holds(values, n, what);
}
template <typename T>
__attribute__((target("avx2"))) bool range_avx2(const T* values, std::size_t n, T& least, T& most) {
  return value_loops::range(values, n, least, most);
}
#endif

}  // namespace

template <typename T>
bool holds(std::span<const T> values, T what) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (value_loops::have_avx2()) return holds_avx2(values.data(), values.size(), what);
#endif
  return value_loops::holds(values.data(), values.size(), what);
}

template <typename T>
bool finite_range(std::span<const T> values, T& least, T& most) {
#if FOREBAY_HAVE_AVX2_LOOPS
  if (value_loops::have_avx2()) return range_avx2(values.data(), values.size(), least, most);
#endif
  return value_loops::range(values.data(), values.size(), least, most);
}

template <typename T>
MissingTest<T>::MissingTest(const MissingRule* rule, std::span<const std::byte> fill) {
  const auto add = [&](T value) {
    if (std::isfinite(value) && std::ranges::find(values, value) == values.end())
      values.push_back(value);
  };
  if (rule != nullptr) {
    for (const double v : rule->values) add(static_cast<T>(v));
    if (rule->least > static_cast<double>(least)) least = static_cast<T>(rule->least);
    if (rule->most < static_cast<double>(most)) most = static_cast<T>(rule->most);
    as_float = rule->as_float && sizeof(T) > sizeof(float);
  }
  if (fill.size() == sizeof(T)) add(load_be<T>(fill.data()));
}

template <typename T>
MissingValues<T>::MissingValues(const ChunkInfo& chunk, std::span<const T> values)
    : is_missing(chunk.missing.get(), chunk.fill) {
  any = !finite_range(values, least, most) || least < is_missing.least || most > is_missing.most ||
        std::ranges::any_of(is_missing.values, [&](T m) {
          if (is_missing.as_float) return std::ranges::any_of(values, is_missing);
          return m >= least && m <= most && holds(values, m);
        });
  if (!any && std::max(-least, most) < Extremes::large) return;
  Extremes extremes;
  extremes.add<T>(
      values.size(), [&](std::size_t i) { return values[i]; }, is_missing);
  const Extremes::Ordinary others = extremes.ordinary();
  for (const double apart : others.outliers) is_missing.values.push_back(static_cast<T>(apart));
  any = any || !others.outliers.empty();
  least = others.any() ? static_cast<T>(others.least) : T(1);
  most = others.any() ? static_cast<T>(others.most) : T(0);
}

template <typename T>
EncodedChunk::Bound compare_with_spread(double bound, std::span<const T> values,
                                        const MissingTest<T>& is_missing) {
  constexpr std::size_t enough = 256, least = 16;
  if (!(bound > 0)) return EncodedChunk::Bound::unknown;
  std::vector<T> some;
  // Scattered samples, whatever the length of rows: a regular stride might only meet land.
  for (std::size_t k = 0; k < std::min(enough, values.size()); ++k) {
    const T v = values[k * std::size_t{2654435761} % values.size()];
    if (!is_missing(v)) some.push_back(v);
  }
  // A fill value that no attribute names counts once, however frequent it is.
  std::ranges::sort(some);
  some.erase(std::unique(some.begin(), some.end()), some.end());
  if (some.size() < least) return EncodedChunk::Bound::unknown;
  const std::size_t tail = some.size() / 20;
  const double spread =
      static_cast<double>(some[some.size() - 1 - tail]) - static_cast<double>(some[tail]);
  if (!(spread > 0)) return EncodedChunk::Bound::unknown;
  return bound < spread ? EncodedChunk::Bound::finer : EncodedChunk::Bound::coarser;
}

template <typename T>
bool find_missing(std::span<const T> values, const MissingTest<T>& is_missing, const T* fill,
                  std::vector<Missing>& mask, std::vector<T>& table) {
  using Limits = std::numeric_limits<T>;
  mask.assign(values.size(), Missing::no);
  table.clear();
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T v = values[i];
    if (!is_missing(v)) continue;
    const auto is = [&](T what) { return bits_of(v) == bits_of(what); };
    if (fill != nullptr && is(*fill)) {
      mask[i] = Missing::fill;
    } else if (is(Limits::quiet_NaN())) {
      mask[i] = Missing::not_a_number;
    } else if (std::isinf(v)) {
      mask[i] = v > 0 ? Missing::plus_infinity : Missing::minus_infinity;
    } else {
      auto at = std::ranges::find_if(table, is) - table.begin();
      if (at == std::ssize(table)) {
        if (table.size() < most_listed)
          table.push_back(v);
        else
          all = false, --at;
      }
      mask[i] = static_cast<Missing>(static_cast<int>(Missing::listed) + static_cast<int>(at));
    }
  }
  return all;
}

template <typename T>
void fill_in(std::span<T> values, const Box& box, std::span<const Missing> mask) {
  std::vector<float> weights(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) weights[i] = mask[i] == Missing::no ? 1.0F : 0.0F;
  pull_and_push(values, std::span<float>(weights), box);
}

std::vector<Missing> coarser(std::span<const Missing> mask, const Box& box) {
  std::vector<Missing> coarse(wavelet::elements(wavelet::smooth_of(box)), Missing::fill);
  std::vector<bool> seen(coarse.size());
  each_with_coarse(box, [&](std::size_t fine, std::size_t at) {
    if (!seen[at] || mask[fine] == Missing::no) coarse[at] = mask[fine];
    seen[at] = true;
  });
  return coarse;
}

template <typename T>
T value_of(Missing missing, const T* fill, std::span<const T> table) {
  if (missing >= Missing::listed)
    return table[static_cast<std::size_t>(missing) - static_cast<std::size_t>(Missing::listed)];
  switch (missing) {
    case Missing::fill:
      return fill != nullptr ? *fill : T(0);
    case Missing::plus_infinity:
      return std::numeric_limits<T>::infinity();
    case Missing::minus_infinity:
      return -std::numeric_limits<T>::infinity();
    default:
      return std::numeric_limits<T>::quiet_NaN();
  }
}

template struct MissingTest<float>;
template struct MissingTest<double>;
template struct MissingValues<float>;
template struct MissingValues<double>;
template EncodedChunk::Bound compare_with_spread(double, std::span<const float>,
                                                 const MissingTest<float>&);
template EncodedChunk::Bound compare_with_spread(double, std::span<const double>,
                                                 const MissingTest<double>&);
template bool finite_range(std::span<const float>, float&, float&);
template bool finite_range(std::span<const double>, double&, double&);
template bool holds(std::span<const float>, float);
template bool holds(std::span<const double>, double);
template bool find_missing(std::span<const float>, const MissingTest<float>&, const float*,
                           std::vector<Missing>&, std::vector<float>&);
template bool find_missing(std::span<const double>, const MissingTest<double>&, const double*,
                           std::vector<Missing>&, std::vector<double>&);
template void fill_in(std::span<float>, const Box&, std::span<const Missing>);
template void fill_in(std::span<double>, const Box&, std::span<const Missing>);
template float value_of(Missing, const float*, std::span<const float>);
template double value_of(Missing, const double*, std::span<const double>);

}  // namespace forebay
