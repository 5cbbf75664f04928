#include "codec/transpose.h"

#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace forebay {

namespace {

// A block holds 64 / W elements. The W-byte part p of word k is element k + 8p. After the
// transpose, word p * W + b holds byte b of the elements 8p to 8p + 7.
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

#ifdef __SSE2__
// 16 elements are W vectors. A round interleaves the bytes of the first half of them with those of
// the second, which rotates the bits of every byte's position by one. Positions are (byte b,
// element e) in the shuffled form and (e, b) in the other: log2(W) rotations lead from the first to
// the second, log2(16) back.
constexpr std::size_t vector_elements = 16;

template <int W, int Rounds>
void interleave(__m128i (&v)[W]) {
  for (int round = 0; round < Rounds; ++round) {
    __m128i next[W];
    for (int i = 0; i < W / 2; ++i) {
      next[2 * i] = _mm_unpacklo_epi8(v[i], v[i + W / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + W / 2]);
    }
    for (int i = 0; i < W; ++i) v[i] = next[i];
  }
}

template <int W>
void shuffle_vectors(std::byte* dst, const std::byte* src, std::size_t n, std::size_t first) {
  __m128i v[W];
  for (std::size_t i = 0; i < W; ++i)
    v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + first * W + i * 16));
  interleave<W, 4>(v);
  for (std::size_t b = 0; b < W; ++b)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + b * n + first), v[b]);
}

template <int W>
void unshuffle_vectors(std::byte* dst, const std::byte* src, std::size_t n, std::size_t first) {
  __m128i v[W];
  for (std::size_t b = 0; b < W; ++b)
    v[b] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + b * n + first));
  interleave<W, std::countr_zero(static_cast<unsigned>(W))>(v);
  for (std::size_t i = 0; i < W; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + first * W + i * 16), v[i]);
}
#endif

// The number of elements that fill whole blocks. The words' bytes are counted from the lowest, so a
// big-endian machine goes byte by byte.
template <int W>
std::size_t whole_blocks(std::size_t n) {
  if constexpr (std::endian::native != std::endian::little) return 0;
  return n / block_elements<W> * block_elements<W>;
}

template <int W>
void shuffle(std::byte* dst, const std::byte* src, std::size_t n) {
  std::size_t done = 0;
#ifdef __SSE2__
  for (; n - done >= vector_elements; done += vector_elements)
    shuffle_vectors<W>(dst, src, n, done);
#endif
  for (const std::size_t whole = done + whole_blocks<W>(n - done); done < whole;
       done += block_elements<W>)
    shuffle_block<W>(dst, src, n, done);
  for (; done < n; ++done)
    for (std::size_t b = 0; b < W; ++b) dst[b * n + done] = src[done * W + b];
}

template <int W>
void unshuffle(std::byte* dst, const std::byte* src, std::size_t n) {
  std::size_t done = 0;
#ifdef __SSE2__
  for (; n - done >= vector_elements; done += vector_elements)
    unshuffle_vectors<W>(dst, src, n, done);
#endif
  for (const std::size_t whole = done + whole_blocks<W>(n - done); done < whole;
       done += block_elements<W>)
    unshuffle_block<W>(dst, src, n, done);
  for (; done < n; ++done)
    for (std::size_t b = 0; b < W; ++b) dst[done * W + b] = src[b * n + done];
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
