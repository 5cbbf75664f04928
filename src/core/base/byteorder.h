// Conversion between the big-endian elements of a file and the byte order of the machine.
//
// The external form of an element of width w is its bytes from the most to the least significant.
// On a little-endian machine, external byte i of an array (counted over all its elements) is native
// byte i ^ (w - 1), because w is a power of two. On a big-endian machine it is byte i. Swapping is
// its own inverse, so copy_swapped serves both writing and reading.
//
// Widths are 1, 2, 4 or 8. No pointer needs any alignment. Nothing here fails or allocates.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace forebay {

inline constexpr bool native_is_big_endian = std::endian::native == std::endian::big;

inline std::uint8_t byte_swapped(std::uint8_t v) { return v; }
inline std::uint16_t byte_swapped(std::uint16_t v) { return __builtin_bswap16(v); }
inline std::uint32_t byte_swapped(std::uint32_t v) { return __builtin_bswap32(v); }
inline std::uint64_t byte_swapped(std::uint64_t v) { return __builtin_bswap64(v); }

namespace byteorder_detail {

template <std::size_t Width>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Word = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Word = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Word = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Word = std::uint64_t;
};

template <typename Word>
inline void swap_one(std::byte* dst, const std::byte* src) {
  Word word;
  std::memcpy(&word, src, sizeof word);
  if constexpr (!native_is_big_endian) word = byte_swapped(word);
  std::memcpy(dst, &word, sizeof word);
}

void copy_swapped_many(std::byte* dst, const std::byte* src, std::size_t bytes, int width);
void copy_range_cut(std::byte* dst, const std::byte* element_base, std::int64_t first_byte,
                    std::int64_t bytes, int width);
void store_range_cut(std::byte* element_base, std::int64_t first_byte, const std::byte* src,
                     std::int64_t bytes, int width);

}  // namespace byteorder_detail

// Returns the number of type T (arithmetic or enum) whose big-endian bytes begin at src.
template <typename T>
T load_be(const std::byte* src) {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
  typename byteorder_detail::UnsignedOf<sizeof(T)>::Word word;
  byteorder_detail::swap_one<decltype(word)>(reinterpret_cast<std::byte*>(&word), src);
  return std::bit_cast<T>(word);
}

// Writes value's sizeof(T) bytes, most significant first, to dst.
template <typename T>
void store_be(std::byte* dst, T value) {
  static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
  byteorder_detail::swap_one<typename byteorder_detail::UnsignedOf<sizeof(T)>::Word>(
      dst, reinterpret_cast<const std::byte*>(&value));
}

// Returns the value whose bytes begin at src, in native byte order.
template <typename T>
T load_native(const std::byte* src) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, src, sizeof value);
  return value;
}

// Copies whole elements and swaps each between native and external order. `bytes` is a multiple of
// width. src and dst are the same or do not overlap. Width 1 is a plain copy. Cost: memory speed
// for long arrays, a few instructions (inline) for one element.
inline void copy_swapped(std::byte* dst, const std::byte* src, std::size_t bytes, int width) {
  using namespace byteorder_detail;
  if (bytes == static_cast<std::size_t>(width)) {
    if (width == 4) return swap_one<std::uint32_t>(dst, src);
    if (width == 8) return swap_one<std::uint64_t>(dst, src);
  }
  copy_swapped_many(dst, src, bytes, width);
}

// Writes to dst the external bytes [first_byte, first_byte + bytes) of the native array at
// element_base. The range may begin and end inside an element. Only bytes of the elements that it
// touches are read. dst does not overlap the array.
inline void copy_swapped_range(std::byte* dst, const std::byte* element_base,
                               std::int64_t first_byte, std::int64_t bytes, int width) {
  if (((first_byte | bytes) & (width - 1)) == 0)
    return copy_swapped(dst, element_base + first_byte, static_cast<std::size_t>(bytes), width);
  byteorder_detail::copy_range_cut(dst, element_base, first_byte, bytes, width);
}

// The reverse, for reading: stores external bytes [first_byte, first_byte + bytes) from src into
// the native array at element_base. Exactly `bytes` bytes of the array change.
inline void store_swapped_range(std::byte* element_base, std::int64_t first_byte,
                                const std::byte* src, std::int64_t bytes, int width) {
  if (((first_byte | bytes) & (width - 1)) == 0)
    return copy_swapped(element_base + first_byte, src, static_cast<std::size_t>(bytes), width);
  byteorder_detail::store_range_cut(element_base, first_byte, src, bytes, width);
}

}  // namespace forebay
