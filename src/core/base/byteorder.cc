#include "base/byteorder.h"

#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#define FOREBAY_HAVE_AVX2 1
#include <immintrin.h>
#endif

namespace forebay::byteorder_detail {
namespace {

// A constant trip count lets the compiler vectorise at -O2. It does not vectorise unknown counts.
constexpr std::size_t block_elements = 32;

template <typename Word>
void swap_portable(std::byte* __restrict dst, const std::byte* __restrict src, std::size_t bytes) {
  constexpr std::size_t block = block_elements * sizeof(Word);
  for (; bytes >= block; bytes -= block, dst += block, src += block)
    for (std::size_t i = 0; i < block_elements; ++i)
      swap_one<Word>(dst + i * sizeof(Word), src + i * sizeof(Word));
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), dst += sizeof(Word), src += sizeof(Word))
    swap_one<Word>(dst, src);
}

// This is not part of swap_portable because __restrict would be untrue here.
template <typename Word>
void swap_in_place_portable(std::byte* data, std::size_t bytes) {
  constexpr std::size_t block = block_elements * sizeof(Word);
  for (; bytes >= block; bytes -= block, data += block)
    for (std::size_t i = 0; i < block_elements; ++i)
      swap_one<Word>(data + i * sizeof(Word), data + i * sizeof(Word));
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), data += sizeof(Word))
    swap_one<Word>(data, data);
}

#if FOREBAY_HAVE_AVX2
__attribute__((target("avx2"), always_inline)) inline __m256i load(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

__attribute__((target("avx2"), always_inline)) inline void store(std::byte* p, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

// Returns the shuffle that reverses the bytes of each Word of a vector.
template <typename Word>
__attribute__((target("avx2"), always_inline)) inline __m256i reversal_mask() {
  alignas(16) char lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = static_cast<char>(i ^ static_cast<int>(sizeof(Word) - 1));
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(lanes)));
}

// Every vector is loaded before the bytes it covers are stored, so dst == src works.
template <typename Word>
__attribute__((target("avx2"))) void swap_avx2(std::byte* dst, const std::byte* src,
                                               std::size_t bytes) {
  const __m256i mask = reversal_mask<Word>();
  for (; bytes >= 128; bytes -= 128, dst += 128, src += 128) {
    const __m256i a = load(src), b = load(src + 32), c = load(src + 64), d = load(src + 96);
    store(dst, _mm256_shuffle_epi8(a, mask));
    store(dst + 32, _mm256_shuffle_epi8(b, mask));
    store(dst + 64, _mm256_shuffle_epi8(c, mask));
    store(dst + 96, _mm256_shuffle_epi8(d, mask));
  }
  for (; bytes >= 32; bytes -= 32, dst += 32, src += 32)
    store(dst, _mm256_shuffle_epi8(load(src), mask));
  if (bytes >= 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm_shuffle_epi8(v, _mm256_castsi256_si128(mask)));
    bytes -= 16, dst += 16, src += 16;
  }
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), dst += sizeof(Word), src += sizeof(Word))
    swap_one<Word>(dst, src);
}
#endif

template <typename Word>
void swap_many(std::byte* dst, const std::byte* src, std::size_t bytes) {
#if FOREBAY_HAVE_AVX2
  if (bytes >= 16 && __builtin_cpu_supports("avx2")) return swap_avx2<Word>(dst, src, bytes);
#endif
  if (dst == src) return swap_in_place_portable<Word>(dst, bytes);
  swap_portable<Word>(dst, src, bytes);
}

}  // namespace

void copy_swapped_many(std::byte* dst, const std::byte* src, std::size_t bytes, int width) {
  if (!native_is_big_endian) {
    if (width == 4) return swap_many<std::uint32_t>(dst, src, bytes);
    if (width == 8) return swap_many<std::uint64_t>(dst, src, bytes);
    if (width == 2) return swap_many<std::uint16_t>(dst, src, bytes);
  }
  if (dst != src && bytes != 0) std::memcpy(dst, src, bytes);
}

namespace {

// A range that may cut its first and last element has three pieces: bytes up to the first element
// boundary, whole elements, and bytes of the last element.
struct Pieces {
  std::int64_t head, whole, tail;
};

Pieces pieces_of(std::int64_t first_byte, std::int64_t bytes, int width) {
  const std::int64_t mask = width - 1;
  const std::int64_t head = std::min((width - (first_byte & mask)) & mask, bytes);
  const std::int64_t whole = (bytes - head) & ~mask;
  return {head, whole, bytes - head - whole};
}

}  // namespace

void copy_range_cut(std::byte* dst, const std::byte* element_base, std::int64_t first_byte,
                    std::int64_t bytes, int width) {
  if (native_is_big_endian) {
    if (bytes > 0) std::memcpy(dst, element_base + first_byte, static_cast<std::size_t>(bytes));
    return;
  }
  const Pieces piece = pieces_of(first_byte, bytes, width);
  const std::int64_t mask = width - 1;
  std::int64_t at = first_byte;
  for (std::int64_t i = 0; i < piece.head; ++i, ++at) *dst++ = element_base[at ^ mask];
  copy_swapped(dst, element_base + at, static_cast<std::size_t>(piece.whole), width);
  dst += piece.whole;
  at += piece.whole;
  for (std::int64_t i = 0; i < piece.tail; ++i, ++at) *dst++ = element_base[at ^ mask];
}

void store_range_cut(std::byte* element_base, std::int64_t first_byte, const std::byte* src,
                     std::int64_t bytes, int width) {
  if (native_is_big_endian) {
    if (bytes > 0) std::memcpy(element_base + first_byte, src, static_cast<std::size_t>(bytes));
    return;
  }
  const Pieces piece = pieces_of(first_byte, bytes, width);
  const std::int64_t mask = width - 1;
  std::int64_t at = first_byte;
  for (std::int64_t i = 0; i < piece.head; ++i, ++at) element_base[at ^ mask] = *src++;
  copy_swapped(element_base + at, src, static_cast<std::size_t>(piece.whole), width);
  src += piece.whole;
  at += piece.whole;
  for (std::int64_t i = 0; i < piece.tail; ++i, ++at) element_base[at ^ mask] = *src++;
}

}  // namespace forebay::byteorder_detail
