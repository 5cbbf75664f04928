#include "codec/transpose.h"

#include <bit>
#include <cstring>

namespace forebay {

namespace {

// A block holds 64 / W elements. Word k of a block has in its W-byte part p the element k + 8p, so
// after the transpose word p * W + b holds byte b of the elements 8p to 8p + 7.
template <int W>
constexpr std::size_t block_elements = 64 / W;

template <int W>
void shuffle_block(std::byte* dst, const std::byte* src, std::size_t n, std::size_t first) {
  std::uint64_t m[8];
  for (int k = 0; k < 8; ++k)
    for (int p = 0; p < 8 / W; ++p)
      std::memcpy(reinterpret_cast<std::byte*>(&m[k]) + p * W,
                  src + (first + static_cast<std::size_t>(k + 8 * p)) * W, W);
  transpose_bytes(m);
  for (int p = 0; p < 8 / W; ++p)
    for (int b = 0; b < W; ++b)
      std::memcpy(dst + static_cast<std::size_t>(b) * n + first + static_cast<std::size_t>(8 * p),
                  &m[p * W + b], 8);
}

template <int W>
void unshuffle_block(std::byte* dst, const std::byte* src, std::size_t n, std::size_t first) {
  std::uint64_t m[8];
  for (int p = 0; p < 8 / W; ++p)
    for (int b = 0; b < W; ++b)
      std::memcpy(&m[p * W + b],
                  src + static_cast<std::size_t>(b) * n + first + static_cast<std::size_t>(8 * p),
                  8);
  transpose_bytes(m);
  for (int k = 0; k < 8; ++k)
    for (int p = 0; p < 8 / W; ++p)
      std::memcpy(dst + (first + static_cast<std::size_t>(k + 8 * p)) * W,
                  reinterpret_cast<const std::byte*>(&m[k]) + p * W, W);
}

// Elements that fill whole blocks; the words' bytes are counted from the lowest, so a big-endian
// machine goes byte by byte.
template <int W>
std::size_t whole_blocks(std::size_t n) {
  if constexpr (std::endian::native != std::endian::little) return 0;
  return n / block_elements<W> * block_elements<W>;
}

template <int W>
void shuffle(std::byte* dst, const std::byte* src, std::size_t n) {
  const std::size_t whole = whole_blocks<W>(n);
  for (std::size_t i = 0; i < whole; i += block_elements<W>) shuffle_block<W>(dst, src, n, i);
  for (std::size_t i = whole; i < n; ++i)
    for (std::size_t b = 0; b < W; ++b) dst[b * n + i] = src[i * W + b];
}

template <int W>
void unshuffle(std::byte* dst, const std::byte* src, std::size_t n) {
  const std::size_t whole = whole_blocks<W>(n);
  for (std::size_t i = 0; i < whole; i += block_elements<W>) unshuffle_block<W>(dst, src, n, i);
  for (std::size_t i = whole; i < n; ++i)
    for (std::size_t b = 0; b < W; ++b) dst[i * W + b] = src[b * n + i];
}

}  // namespace

void shuffle_bytes(std::byte* dst, const std::byte* src, std::size_t n, int width) {
  if (n == 0) return;
  if (width == 2) return shuffle<2>(dst, src, n);
  if (width == 4) return shuffle<4>(dst, src, n);
  if (width == 8) return shuffle<8>(dst, src, n);
  std::memcpy(dst, src, n);
}

void unshuffle_bytes(std::byte* dst, const std::byte* src, std::size_t n, int width) {
  if (n == 0) return;
  if (width == 2) return unshuffle<2>(dst, src, n);
  if (width == 4) return unshuffle<4>(dst, src, n);
  if (width == 8) return unshuffle<8>(dst, src, n);
  std::memcpy(dst, src, n);
}

}  // namespace forebay
