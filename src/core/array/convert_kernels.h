// The rules of conversion, value by value, and the loops that apply them to arrays. Only files that
// compile these loops for one instruction set include this; all others use array/convert.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "array/type.h"
#include "base/byteorder.h"

namespace forebay::convert_detail {

enum class Direction { to_external, from_external };

// Converts n elements from src to dst; `fill` is one native element of the result's type. Returns
// whether any value was out of range.
using Kernel = bool (*)(std::byte* dst, const std::byte* src, std::int64_t n,
                        const std::byte* fill);

inline constexpr std::size_t type_count = 12;
// Indexed [external type][memory type]; null if the pair does not convert.
using KernelTable = std::array<std::array<Kernel, type_count>, type_count>;

struct Kernels {
  KernelTable to_external, from_external;
};

extern const Kernels portable_kernels;
#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_HAVE_AVX2_KERNELS 1
extern const Kernels avx2_kernels;
#endif

// The types are in the order of Type. void: the type converts to no number.
template <Type type>
using NativeOf = std::tuple_element_t<
    static_cast<std::size_t>(type),
    std::tuple<void, std::int8_t, void, std::int16_t, std::int32_t, float, double, std::uint8_t,
               std::uint16_t, std::uint32_t, std::int64_t, std::uint64_t>>;

#define FOREBAY_INLINE __attribute__((always_inline)) inline

// Limits of an integer type Dst as numbers of the floating type Src. The least value is a power of
// two or zero, so it is exact. The greatest, 2^b - 1, is exact only if Src has b bits of mantissa.
// Otherwise the next number of Src is 2^b, and that one is out of range instead.
template <typename Src, typename Dst>
struct FloatLimits {
  static constexpr bool max_is_exact =
      std::numeric_limits<Dst>::digits <= std::numeric_limits<Src>::digits;
  static constexpr Src min = static_cast<Src>(std::numeric_limits<Dst>::min());
  static constexpr Src max = static_cast<Src>(std::numeric_limits<Dst>::max());  // or 2^b
};

template <Direction direction, typename Src, typename Dst>
FOREBAY_INLINE bool out_of_range(Src x) {
  if constexpr (std::is_floating_point_v<Src> && std::is_integral_v<Dst>) {
    using Limits = FloatLimits<Src, Dst>;
    // When reading, a 64-bit integer type takes 2^b as its greatest value.
    constexpr bool max_is_in_range =
        Limits::max_is_exact || (direction == Direction::from_external && sizeof(Dst) == 8);
    return (x < Limits::min) | (max_is_in_range ? x > Limits::max : x >= Limits::max);
  } else if constexpr (std::is_same_v<Src, double> && std::is_same_v<Dst, float>) {
    constexpr double max = std::numeric_limits<float>::max();
    return (x > max) | (x < -max);
  } else if constexpr (std::is_same_v<Src, float> && std::is_same_v<Dst, double>) {
    constexpr float max = std::numeric_limits<float>::max();
    return direction == Direction::to_external && ((x > max) | (x < -max));
  } else if constexpr (std::is_floating_point_v<Dst>) {
    return false;
  } else {
    return !std::in_range<Dst>(x);
  }
}

// Returns what a NaN becomes as an integer: what x86's truncating conversions to 32 and 64 bits
// leave in the low bits.
template <typename Dst>
constexpr Dst nan_as_integer() {
  if constexpr (std::is_same_v<Dst, std::uint64_t>) return std::uint64_t{1} << 63;
  if constexpr (std::is_signed_v<Dst> && sizeof(Dst) >= 4) return std::numeric_limits<Dst>::min();
  return 0;
}

// Returns the value of x, which out_of_range has passed, as a Dst.
template <typename Src, typename Dst>
FOREBAY_INLINE Dst value_as(Src x) {
  if constexpr (std::is_floating_point_v<Src> && std::is_integral_v<Dst>) {
    using Limits = FloatLimits<Src, Dst>;
    const bool is_nan = x != x;
    const bool is_max = !Limits::max_is_exact && x == Limits::max;
    const Dst value = static_cast<Dst>(is_nan || is_max ? Src{0} : x);
    if constexpr (!Limits::max_is_exact && sizeof(Dst) == 8)
      if (is_max) return std::numeric_limits<Dst>::max();
    return is_nan ? nan_as_integer<Dst>() : value;
  } else {
    return static_cast<Dst>(x);
  }
}

// Loads, converts and stores one element. Reading swaps at the load, writing at the store.
template <Direction direction, typename Src>
FOREBAY_INLINE Src load_element(const std::byte* src) {
  if constexpr (direction == Direction::from_external) return load_be<Src>(src);
  Src x;
  std::memcpy(&x, src, sizeof x);
  return x;
}

template <Direction direction, typename Dst>
FOREBAY_INLINE void store_element(std::byte* dst, Dst y) {
  if constexpr (direction == Direction::to_external) {
    store_be<Dst>(dst, y);
  } else {
    std::memcpy(dst, &y, sizeof y);
  }
}

template <Direction direction, typename Src, typename Dst>
FOREBAY_INLINE bool convert_one(std::byte* dst, const std::byte* src, Dst fill) {
  const Src x = load_element<direction, Src>(src);
  const bool bad = out_of_range<direction, Src, Dst>(x);
  store_element<direction, Dst>(dst, bad ? fill : value_as<Src, Dst>(x));
  return bad;
}

// Returns whether static_cast gives the right value: in range, and no special case of value_as.
template <Direction direction, typename Src, typename Dst>
FOREBAY_INLINE bool is_simple(Src x) {
  if constexpr (std::is_floating_point_v<Src> && std::is_integral_v<Dst>) {
    using Limits = FloatLimits<Src, Dst>;
    return (x >= Limits::min) & (Limits::max_is_exact ? x <= Limits::max : x < Limits::max);
  } else {
    return !out_of_range<direction, Src, Dst>(x);
  }
}

// Returns whether is_simple holds for every value, by the types alone.
template <Direction direction, typename Src, typename Dst>
constexpr bool always_simple() {
  if constexpr (std::is_floating_point_v<Dst>)
    return std::is_integral_v<Src> || (direction == Direction::from_external && sizeof(Dst) == 8);
  if constexpr (std::is_integral_v<Src> && std::is_integral_v<Dst>)
    return std::in_range<Dst>(std::numeric_limits<Src>::min()) &&
           std::in_range<Dst>(std::numeric_limits<Src>::max());
  return false;
}

inline constexpr std::size_t block_elements = 64;

// Converts a block whose values are all simple, as in nearly every block. The loops have a constant
// trip count and no branches, so compilers turn them into vector code. Returns false, with dst
// untouched, if a value is not simple.
template <Direction direction, typename Src, typename Dst>
FOREBAY_INLINE bool convert_simple_block(std::byte* __restrict dst,
                                         const std::byte* __restrict src) {
  alignas(64) Src x[block_elements];
  for (std::size_t i = 0; i < block_elements; ++i)
    x[i] = load_element<direction, Src>(src + i * sizeof(Src));
  if constexpr (!always_simple<direction, Src, Dst>()) {
    // Flags as wide as the elements keep all lanes of the loop equally wide.
    using Flag = typename byteorder_detail::UnsignedOf<sizeof(Src)>::Word;
    Flag special = 0;
    for (std::size_t i = 0; i < block_elements; ++i)
      special |= is_simple<direction, Src, Dst>(x[i]) ? Flag{0} : Flag{1};
    if (special != 0) return false;
  }
  for (std::size_t i = 0; i < block_elements; ++i)
    store_element<direction, Dst>(dst + i * sizeof(Dst), static_cast<Dst>(x[i]));
  return true;
}

template <Direction direction, typename Src, typename Dst>
FOREBAY_INLINE bool convert_array(std::byte* dst, const std::byte* src, std::int64_t n,
                                  const std::byte* fill_bytes) {
  Dst fill;
  std::memcpy(&fill, fill_bytes, sizeof fill);
  bool bad = false;
  std::size_t left = static_cast<std::size_t>(n);
  while (left > 0) {
    const std::size_t count = left < block_elements ? left : block_elements;
    if (count < block_elements || !convert_simple_block<direction, Src, Dst>(dst, src))
      for (std::size_t i = 0; i < count; ++i)
        bad |= convert_one<direction, Src, Dst>(dst + i * sizeof(Dst), src + i * sizeof(Src), fill);
    left -= count;
    dst += count * sizeof(Dst);
    src += count * sizeof(Src);
  }
  return bad;
}

// Makes the tables of one instruction set. Wrap<direction, Src, Dst>::run is convert_array,
// compiled for that set.
template <template <Direction, typename, typename> class Wrap, Type ext, Type mem>
constexpr void set_pair(Kernels& kernels) {
  using Ext = NativeOf<ext>;
  using Mem = NativeOf<mem>;
  if constexpr (ext != mem && !std::is_void_v<Ext> && !std::is_void_v<Mem>) {
    constexpr auto e = static_cast<std::size_t>(ext), m = static_cast<std::size_t>(mem);
    kernels.to_external[e][m] = &Wrap<Direction::to_external, Mem, Ext>::run;
    kernels.from_external[e][m] = &Wrap<Direction::from_external, Ext, Mem>::run;
  }
}

template <template <Direction, typename, typename> class Wrap, std::size_t... pair>
constexpr Kernels make_kernels(std::index_sequence<pair...>) {
  Kernels kernels{};
  (set_pair<Wrap, static_cast<Type>(pair / type_count), static_cast<Type>(pair % type_count)>(
       kernels),
   ...);
  return kernels;
}

template <template <Direction, typename, typename> class Wrap>
constexpr Kernels make_kernels() {
  return make_kernels<Wrap>(std::make_index_sequence<type_count * type_count>());
}

}  // namespace forebay::convert_detail
