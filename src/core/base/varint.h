// Variable-length integers: seven bits a byte, lowest first. The last byte has its top bit clear.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay {

constexpr std::size_t most_varint_bytes = 10;

inline std::size_t varint_bytes(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Writes `value` and returns the position behind it.
inline std::byte* put_varint(std::byte* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}

inline void append_varint(std::vector<std::byte>& to, std::uint64_t value) {
  std::byte bytes[most_varint_bytes];
  to.insert(to.end(), bytes, put_varint(bytes, value));
}

/// Reads a number. Returns false if it goes on beyond `end` or does not fit into 64 bits.
inline bool get_varint(const std::byte*& at, const std::byte* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*at++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return shift < 63 || byte <= 1;
  }
  return false;
}

/// Maps numbers near 0, of either sign, to small numbers.
inline std::uint64_t zigzag(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
inline std::int64_t unzigzag(std::uint64_t n) {
  return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
}

}  // namespace forebay
