// Byte shuffling: byte b of all elements is stored together.
//
// The problem: n elements of w bytes stand one after the other. Bytes of equal significance (all
// exponents, say) resemble each other more than neighbours inside an element do. The shuffled form
// S is
//
//     S[b * n + i] = element i's byte b        0 <= b < w, 0 <= i < n
//
// HDF5's shuffle filter and numcodecs' Shuffle store this form. Both directions work on 16 elements
// in vector registers, or on 8 × 8 blocks of bytes in eight words without vectors, so that each
// byte is loaded and stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace forebay {

/// Shuffles n elements of `width` bytes (1, 2, 4 or 8) from src to dst, n * width bytes each, which
/// must not overlap. Runs at memory speed for long arrays.
void shuffle_bytes(std::byte* dst, const std::byte* src, std::size_t n, int width);
void unshuffle_bytes(std::byte* dst, const std::byte* src, std::size_t n, int width);

/// Transposes the 8 × 8 matrix whose row r is m[r] and whose column c is bits 8c to 8c + 7.
inline void transpose_bytes(std::uint64_t (&m)[8]) {
  // Swap the off-diagonal quarters of 4 × 4, then of 2 × 2, then of 1 × 1 bytes.
  constexpr std::uint64_t low4 = 0x00000000FFFFFFFFU;
  constexpr std::uint64_t low2 = 0x0000FFFF0000FFFFU;
  constexpr std::uint64_t low1 = 0x00FF00FF00FF00FFU;
  const auto swap = [&m](int upper, int lower, int shift, std::uint64_t low) {
    const std::uint64_t change = ((m[upper] >> shift) ^ m[lower]) & low;
    m[lower] ^= change;
    m[upper] ^= change << shift;
  };
  for (int r = 0; r < 4; ++r) swap(r, r + 4, 32, low4);
  for (const int r : {0, 1, 4, 5}) swap(r, r + 2, 16, low2);
  for (const int r : {0, 2, 4, 6}) swap(r, r + 1, 8, low1);
}

/// Transposes the 8 × 8 matrix of bits whose row r is bits 8r to 8r + 7 of m.
inline std::uint64_t transpose_bits(std::uint64_t m) {
  const auto swap = [&m](int shift, std::uint64_t low) {
    const std::uint64_t change = ((m >> shift) ^ m) & low;
    m ^= change ^ (change << shift);
  };
  swap(28, 0x00000000F0F0F0F0U);
  swap(14, 0x0000CCCC0000CCCCU);
  swap(7, 0x00AA00AA00AA00AAU);
  return m;
}

}  // namespace forebay
