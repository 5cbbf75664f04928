#include "codec/zfp_blocks.h"

#if defined(__x86_64__) && defined(__GNUC__)

// All includes come first, so that only this file's own code is compiled for AVX2.
#include <immintrin.h>
#include <zfp.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif

#define FOREBAY_INLINE __attribute__((always_inline)) inline

namespace forebay::zfp_blocks {
namespace {

using Word = std::uint64_t;
constexpr std::size_t none_fits = ~std::size_t{0};
constexpr int word_bits = 64, values_of_block = 64, plane_bits = 32, edge = 4;

template <typename T>
struct Traits;
template <>
struct Traits<float> {
  using Unsigned = std::uint32_t;
  using Signed = std::int32_t;
  static constexpr int exponent_bits = 8, mantissa_bits = 23;
};
template <>
struct Traits<double> {
  using Unsigned = std::uint64_t;
  using Signed = std::int64_t;
  static constexpr int exponent_bits = 11, mantissa_bits = 52;
};
template <typename T>
constexpr int bias = (1 << (Traits<T>::exponent_bits - 1)) - 1;
template <typename T>
constexpr int precision_of = 8 * sizeof(T);
// The largest size of a block, and the bytes beyond it that a reader may look at.
constexpr std::size_t most_block_bytes = (1 + 11 + 64 * 65) / 8 + 1, look_ahead = 16;

// The number of neighbouring blocks along x that are processed together: a vector has a row of
// each.
template <typename T>
constexpr int beside = 32 / (edge * sizeof(T));
template <typename T>
constexpr int lanes = edge* beside<T>;
template <typename T>
struct Row {
  typedef T Values __attribute__((vector_size(32)));
  typedef typename Traits<T>::Unsigned Unsigned __attribute__((vector_size(32)));
  typedef typename Traits<T>::Signed Signed __attribute__((vector_size(32)));
};
using Row32 = Row<float>::Unsigned;
using Row64 = Row<double>::Unsigned;

template <typename V>
FOREBAY_INLINE V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <typename V>
FOREBAY_INLINE void store(void* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

// ---- bits ----

class Writer {
 public:
  explicit Writer(std::byte* to) : begin_(to), at_(to) {}
  // Writes 0 to 64 bits, the lowest first. The bits of `value` above them must be zero.
  FOREBAY_INLINE void put(Word value, int bits) {
    word_ |= value << used_;
    used_ += bits;
    if (used_ < word_bits) return;
    store(at_, word_);
    at_ += sizeof word_;
    used_ -= word_bits;
    word_ = used_ > 0 ? value >> (bits - used_) : 0;
  }
  // Writes all remaining bits, and returns the number of all bits.
  std::size_t finish() {
    const std::size_t bits =
        8 * static_cast<std::size_t>(at_ - begin_) + static_cast<unsigned>(used_);
    store(at_, word_);
    return bits;
  }

 private:
  std::byte* begin_;
  std::byte* at_;
  Word word_ = 0;
  int used_ = 0;
};

class Reader {
 public:
  explicit Reader(const std::byte* from) : from_(from) {}
  // The next 64 bits.
  FOREBAY_INLINE Word peek() const {
    Word low, high;
    std::memcpy(&low, from_ + at_ / 8, sizeof low);
    std::memcpy(&high, from_ + at_ / 8 + sizeof low, sizeof high);
    const unsigned shift = at_ % 8;
    return low >> shift | (high << 1) << (word_bits - 1 - shift);
  }
  // Skips `used` of these bits, and returns the next 64. `used` becomes 0.
  FOREBAY_INLINE Word peek_behind(int& used) {
    skip(used);
    used = 0;
    return peek();
  }
  FOREBAY_INLINE void skip(int bits) { at_ += static_cast<std::size_t>(bits); }
  FOREBAY_INLINE Word take(int bits) {
    const Word value = _bzhi_u64(peek(), static_cast<unsigned>(bits));
    skip(bits);
    return value;
  }
  std::size_t bits() const { return at_; }
  void move(const std::byte* from, std::size_t bits) {
    from_ = from;
    at_ = bits;
  }

 private:
  const std::byte* from_;
  std::size_t at_ = 0;
};

// ---- planes ----

// From smooth to rough: by i + j + k, then by i² + j² + k²; as i + 4j + 16k.
constexpr std::uint8_t order[values_of_block] = {
    0,  1,  4,  16, 20, 17, 5,  2,  8,  32, 21, 6,  18, 24, 9,  33, 36, 3,  12, 48, 22, 25,
    37, 40, 34, 10, 7,  19, 28, 13, 49, 52, 41, 38, 26, 23, 29, 53, 11, 35, 44, 14, 50, 56,
    42, 27, 39, 45, 30, 54, 57, 60, 51, 15, 43, 46, 58, 61, 55, 31, 62, 59, 47, 63};

FOREBAY_INLINE void transpose(Row64& a, Row64& b, Row64& c, Row64& d) {
  const auto ab_low =
      _mm256_unpacklo_epi64(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
  const auto ab_high =
      _mm256_unpackhi_epi64(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
  const auto cd_low =
      _mm256_unpacklo_epi64(reinterpret_cast<__m256i>(c), reinterpret_cast<__m256i>(d));
  const auto cd_high =
      _mm256_unpackhi_epi64(reinterpret_cast<__m256i>(c), reinterpret_cast<__m256i>(d));
  a = reinterpret_cast<Row64>(_mm256_permute2x128_si256(ab_low, cd_low, 0x20));
  b = reinterpret_cast<Row64>(_mm256_permute2x128_si256(ab_high, cd_high, 0x20));
  c = reinterpret_cast<Row64>(_mm256_permute2x128_si256(ab_low, cd_low, 0x31));
  d = reinterpret_cast<Row64>(_mm256_permute2x128_si256(ab_high, cd_high, 0x31));
}

// Transposes each block.
FOREBAY_INLINE void transpose(Row32& a, Row32& b, Row32& c, Row32& d) {
  const auto ab_low =
      _mm256_unpacklo_epi32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
  const auto ab_high =
      _mm256_unpackhi_epi32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b));
  const auto cd_low =
      _mm256_unpacklo_epi32(reinterpret_cast<__m256i>(c), reinterpret_cast<__m256i>(d));
  const auto cd_high =
      _mm256_unpackhi_epi32(reinterpret_cast<__m256i>(c), reinterpret_cast<__m256i>(d));
  a = reinterpret_cast<Row32>(_mm256_unpacklo_epi64(ab_low, cd_low));
  b = reinterpret_cast<Row32>(_mm256_unpackhi_epi64(ab_low, cd_low));
  c = reinterpret_cast<Row32>(_mm256_unpacklo_epi64(ab_high, cd_high));
  d = reinterpret_cast<Row32>(_mm256_unpackhi_epi64(ab_high, cd_high));
}

// Groups the bytes of eight 32-bit numbers: their lowest bytes, the next ones, ...
FOREBAY_INLINE __m256i in_lane_bytes() {
  return _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5,
                          9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

// bytes[b] gets byte b of 64 numbers.
FOREBAY_INLINE void to_bytes(const std::uint32_t* numbers, __m256i (&bytes)[4][2]) {
  const __m256i by_lane = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int half = 0; half < 2; ++half) {
    Row64 v[4];
    for (int i = 0; i < 4; ++i) {
      const __m256i grouped =
          _mm256_shuffle_epi8(load<__m256i>(numbers + 32 * half + 8 * i), in_lane_bytes());
      v[i] = reinterpret_cast<Row64>(_mm256_permutevar8x32_epi32(grouped, by_lane));
    }
    transpose(v[0], v[1], v[2], v[3]);
    for (int b = 0; b < 4; ++b) bytes[b][half] = reinterpret_cast<__m256i>(v[b]);
  }
}

FOREBAY_INLINE void from_bytes(const __m256i (&bytes)[4][2], std::uint32_t* numbers) {
  const __m256i by_lane = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  for (int half = 0; half < 2; ++half) {
    Row64 v[4];
    for (int b = 0; b < 4; ++b) v[b] = reinterpret_cast<Row64>(bytes[b][half]);
    transpose(v[0], v[1], v[2], v[3]);
    // The transpose of four rows of four bytes is its own inverse.
    for (int i = 0; i < 4; ++i)
      store(
          numbers + 32 * half + 8 * i,
          _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(v[i]), by_lane),
                              in_lane_bytes()));
  }
}

// Writes one plane. `known` is the number of values up to the last one that has had a 1.
FOREBAY_INLINE void put_plane(Writer& to, Word plane, int& known) {
  int n = known;
  if (n > 0) to.put(_bzhi_u64(plane, static_cast<unsigned>(n)), n);
  if (n == values_of_block) return;
  plane >>= n;
  while (plane != 0) {
    const int zeros = __builtin_ctzll(plane);
    n += zeros + 1;
    // A 1 of the last value is implied: there is a 1, and all earlier values have none.
    if (n == values_of_block) {
      to.put(1, zeros + 1);
      known = n;
      return;
    }
    to.put(1 | Word{2} << zeros, zeros + 2);
    plane >>= zeros + 1;
  }
  known = n;
  to.put(0, 1);
}

FOREBAY_INLINE Word take_plane(Reader& from, int& known) {
  int n = known, used = known;  // `used`: how many of the 64 bits were consumed
  Word next = from.peek();
  Word plane = _bzhi_u64(next, static_cast<unsigned>(n));
  if (n == values_of_block) {
    from.skip(n);
    return plane;
  }
  next >>= n;
  while (n < values_of_block) {
    if (used == word_bits) next = from.peek_behind(used);
    if ((next & 1) == 0) {
      ++used;
      break;
    }
    // Zeros were shifted in, so the next 1 may come after them.
    if (next == 1 && used > 0) next = from.peek_behind(used);
    const int most = values_of_block - 1 - n;
    int zeros = next > 1 ? __builtin_ctzll(next >> 1) : most;
    // A 1 of the last value is not stored.
    const bool last = zeros >= most;
    if (last) zeros = most;
    const int bits = zeros + (last ? 1 : 2);
    used += bits;
    next = bits < word_bits ? next >> bits : 0;
    n += zeros;
    plane |= Word{1} << n++;
  }
  from.skip(used);
  known = n;
  return plane;
}

// Writes the planes 31 to `last` of 64 numbers.
FOREBAY_INLINE void put_planes(Writer& to, const std::uint32_t* numbers, int last, int& known) {
  __m256i bytes[4][2];
  to_bytes(numbers, bytes);
  for (int k = plane_bits - 1; k >= last;) {
    __m256i low = bytes[k / 8][0], high = bytes[k / 8][1];
    for (const int end = k / 8 * 8 < last ? last : k / 8 * 8; k >= end; --k) {
      const auto first = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
      const auto second = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
      put_plane(to, Word{second} << 32 | first, known);
      low = _mm256_add_epi8(low, low);
      high = _mm256_add_epi8(high, high);
    }
  }
}

FOREBAY_INLINE __m256i with_bits(__m256i bytes, std::uint32_t bits) {
  const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                          2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i each = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
  const __m256i here = _mm256_and_si256(
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), spread), each);
  return _mm256_sub_epi8(_mm256_add_epi8(bytes, bytes), _mm256_cmpeq_epi8(here, each));
}

FOREBAY_INLINE void take_planes(Reader& from, std::uint32_t* numbers, int last, int& known) {
  __m256i bytes[4][2] = {};
  for (int b = 3; b >= 0 && 8 * b + 7 >= last; --b) {
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int k = 8 * b + 7; k >= 8 * b; --k) {
      const Word plane = k >= last ? take_plane(from, known) : 0;
      low = with_bits(low, static_cast<std::uint32_t>(plane));
      high = with_bits(high, static_cast<std::uint32_t>(plane >> 32));
    }
    bytes[b][0] = low;
    bytes[b][1] = high;
  }
  from_bytes(bytes, numbers);
}

// ---- the transform ----

template <typename T>
using Rows = typename Row<T>::Unsigned[edge][edge];  // [z][y]

template <typename T>
FOREBAY_INLINE typename Row<T>::Unsigned half(typename Row<T>::Unsigned v) {
  return reinterpret_cast<typename Row<T>::Unsigned>(reinterpret_cast<typename Row<T>::Signed>(v) >>
                                                     1);
}

//           ( 4  4  4  4)
//    1/16 * ( 5  1 -1 -5)   of (x y z w), by steps that lose nothing but last bits
//           (-4  4  4 -4)
//           (-2  6 -6  2)
template <typename T, typename V>
FOREBAY_INLINE void lift(V& x, V& y, V& z, V& w) {
  x = half<T>(x + w), w -= x;
  z = half<T>(z + y), y -= z;
  x = half<T>(x + z), z -= x;
  w = half<T>(w + y), y -= w;
  w += half<T>(y), y -= half<T>(w);
}

template <typename T, typename V>
FOREBAY_INLINE void unlift(V& x, V& y, V& z, V& w) {
  y += half<T>(w), w -= half<T>(y);
  y += w, w = (w << 1) - y;
  z += x, x = (x << 1) - z;
  y += z, z = (z << 1) - y;
  w += x, x = (x << 1) - w;
}

template <typename T>
FOREBAY_INLINE void transform(Rows<T>& r) {
#pragma GCC unroll 4
  for (auto& z : r) {
    transpose(z[0], z[1], z[2], z[3]);
    lift<T>(z[0], z[1], z[2], z[3]);
    transpose(z[0], z[1], z[2], z[3]);
    lift<T>(z[0], z[1], z[2], z[3]);
  }
#pragma GCC unroll 4
  for (int y = 0; y < edge; ++y) lift<T>(r[0][y], r[1][y], r[2][y], r[3][y]);
}

template <typename T>
FOREBAY_INLINE void untransform(Rows<T>& r) {
#pragma GCC unroll 4
  for (int y = 0; y < edge; ++y) unlift<T>(r[0][y], r[1][y], r[2][y], r[3][y]);
#pragma GCC unroll 4
  for (auto& z : r) {
    unlift<T>(z[0], z[1], z[2], z[3]);
    transpose(z[0], z[1], z[2], z[3]);
    unlift<T>(z[0], z[1], z[2], z[3]);
    transpose(z[0], z[1], z[2], z[3]);
  }
}

// ---- blocks ----

// 2^exponent; infinite if it is too large.
FOREBAY_INLINE double power(int exponent) {
  if (exponent < -1022 || exponent > 1023) return std::ldexp(1.0, exponent);
  const Word bits = static_cast<Word>(exponent + 1023) << 52;
  return load<double>(&bits);
}

/// The number of stored bit planes of a block whose largest value has this exponent.
template <typename T>
FOREBAY_INLINE int planes_of(int exponent, int least_exponent) {
  constexpr int of_transform = 2 * (3 + 1);
  const int planes = exponent - least_exponent + of_transform;
  if (planes <= 0) return 0;
  return planes < precision_of<T> ? planes : precision_of<T>;
}

template <typename T>
FOREBAY_INLINE typename Row<T>::Values absolute(typename Row<T>::Values v) {
  using Unsigned = typename Row<T>::Unsigned;
  return reinterpret_cast<typename Row<T>::Values>(reinterpret_cast<Unsigned>(v) << 1 >> 1);
}

template <typename T>
using Values = typename Row<T>::Values[edge][edge];  // [z][y]

/// The exponents and the numbers of stored planes of neighbouring blocks.
template <typename T>
struct Cut {
  int exponents[beside<T>];  // the x with |value| < 2^x for the largest value
  int planes[beside<T>];
  bool any = false;  // some block is not zero

  void note(int block, int exponent, int of_planes) {
    exponents[block] = exponent;
    planes[block] = of_planes;
    any |= of_planes > 0;
  }
};

template <typename T>
FOREBAY_INLINE Cut<T> cut_of(const Values<T>& rows, int least_exponent) {
  auto most = absolute<T>(rows[0][0]);
#pragma GCC unroll 4
  for (const auto& z : rows) {
#pragma GCC unroll 4
    for (const auto& v : z) {
      const auto a = absolute<T>(v);
      most = a > most ? a : most;
    }
  }
  Cut<T> cut;
  for (int b = 0; b < beside<T>; ++b) {
    T largest = most[edge * b];
    for (int i = 1; i < edge; ++i)
      largest = most[edge * b + i] > largest ? most[edge * b + i] : largest;
    const auto bits = load<typename Traits<T>::Unsigned>(&largest);
    const int exponent = static_cast<int>(bits >> Traits<T>::mantissa_bits) - (bias<T> - 1);
    if (largest == 0)
      cut.note(b, -bias<T>, 0);
    else
      cut.note(b, exponent, planes_of<T>(exponent, least_exponent));
  }
  return cut;
}

// The bits that base -2 has set in -1, -1/2, ...
template <typename T>
constexpr auto odd_bits = static_cast<typename Traits<T>::Unsigned>(0xaaaaaaaaaaaaaaaa);

// A vector with f() of each block for its row; 0 for blocks of zeros.
template <typename T, typename V, typename F>
FOREBAY_INLINE V of_each(const Cut<T>& cut, F&& f) {
  V v{};
  for (int b = 0; b < beside<T>; ++b) {
    if (cut.planes[b] == 0) continue;
    const auto its = f(cut.exponents[b], cut.planes[b]);
    for (int i = 0; i < edge; ++i) v[edge * b + i] = its;
  }
  return v;
}

// Conversions like the scalar instructions of the processor: numbers that are too large for an
// integer become the least one.
FOREBAY_INLINE Row<float>::Signed to_signed(Row<float>::Values v) {
  return __builtin_convertvector(v, Row<float>::Signed);
}

FOREBAY_INLINE Row<float>::Values to_values(Row<float>::Signed v) {
  return __builtin_convertvector(v, Row<float>::Values);
}

// The upper and the lower 32 bits, each converted exactly. Adding 3·2^51 moves the lower part into
// the last bits.
FOREBAY_INLINE Row<double>::Signed to_signed(Row<double>::Values v) {
  const __m256d split = _mm256_set1_pd(0x1p32), last = _mm256_set1_pd(0x1.8p52);
  const __m128i high = _mm256_cvttpd_epi32(_mm256_mul_pd(v, _mm256_set1_pd(0x1p-32)));
  const __m256d above = _mm256_cvtepi32_pd(high);
  const __m256d below = _mm256_round_pd(_mm256_sub_pd(v, _mm256_mul_pd(above, split)),
                                        _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m256i low =
      _mm256_sub_epi64(_mm256_castpd_si256(_mm256_add_pd(below, last)), _mm256_castpd_si256(last));
  const __m256i whole = _mm256_add_epi64(_mm256_slli_epi64(_mm256_cvtepi32_epi64(high), 32), low);
  const __m256d least =
      _mm256_castsi256_pd(_mm256_set1_epi64x(std::numeric_limits<std::int64_t>::min()));
  const __m256d none = _mm256_cmp_pd(above, _mm256_set1_pd(-0x1p31), _CMP_EQ_OQ);
  return reinterpret_cast<Row<double>::Signed>(
      _mm256_blendv_pd(_mm256_castsi256_pd(whole), least, none));
}

// Both halves are converted exactly, so their sum is rounded once.
FOREBAY_INLINE Row<double>::Values to_values(Row<double>::Signed v) {
  const auto whole = reinterpret_cast<__m256i>(v);
  const __m256i odd = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
  const __m256d high =
      _mm256_cvtepi32_pd(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(whole, odd)));
  const __m256d base = _mm256_set1_pd(0x1p52);
  const __m256d low = _mm256_sub_pd(
      _mm256_castsi256_pd(_mm256_blend_epi32(whole, _mm256_castpd_si256(base), 0xaa)), base);
  return _mm256_add_pd(_mm256_mul_pd(high, _mm256_set1_pd(0x1p32)), low);
}

// The integers of blocks, in base -2.
template <typename T>
FOREBAY_INLINE void to_integers(const Values<T>& values, const Cut<T>& cut, Rows<T>& rows) {
  using Unsigned = typename Row<T>::Unsigned;
  const auto scale = of_each<T, typename Row<T>::Values>(
      cut, [](int exponent, int) { return static_cast<T>(power(precision_of<T> - 2 - exponent)); });
#pragma GCC unroll 4
  for (int z = 0; z < edge; ++z)
#pragma GCC unroll 4
    for (int y = 0; y < edge; ++y)
      rows[z][y] = reinterpret_cast<Unsigned>(to_signed(values[z][y] * scale));
  transform<T>(rows);
#pragma GCC unroll 4
  for (auto& z : rows)
#pragma GCC unroll 4
    for (auto& row : z) row = (row + odd_bits<T>)^odd_bits<T>;
}

template <typename T>
FOREBAY_INLINE void from_integers(Rows<T>& rows, const Cut<T>& cut, Values<T>& values) {
  using Signed = typename Row<T>::Signed;
#pragma GCC unroll 4
  for (auto& z : rows)
#pragma GCC unroll 4
    for (auto& row : z) row = (row ^ odd_bits<T>)-odd_bits<T>;
  untransform<T>(rows);
  const auto scale = of_each<T, typename Row<T>::Values>(cut, [](int exponent, int) {
    return static_cast<T>(power(exponent - (precision_of<T> - 2)));
  });
#pragma GCC unroll 4
  for (int z = 0; z < edge; ++z)
#pragma GCC unroll 4
    for (int y = 0; y < edge; ++y)
      values[z][y] = to_values(reinterpret_cast<Signed>(rows[z][y])) * scale;
}

// The position of an integer of the first of neighbouring blocks; the other blocks follow at steps
// of four.
template <typename T>
constexpr int place(int i) {
  return i / edge * lanes<T> + i % edge;
}

// Writes the first `count` blocks.
template <typename T>
FOREBAY_INLINE void put_blocks(Writer& to, const Cut<T>& cut, const Rows<T>& rows, int count) {
  using Traits = zfp_blocks::Traits<T>;
  typename Traits::Unsigned all[beside<T> * values_of_block];
  std::memcpy(all, rows, sizeof all);
  for (int b = 0; b < count; ++b) {
    const int planes = cut.planes[b];
    if (planes == 0) {
      to.put(0, 1);
      continue;
    }
    to.put(2 * static_cast<Word>(cut.exponents[b] + bias<T>) + 1, 1 + Traits::exponent_bits);
    const auto* const its = all + edge * b;
    std::uint32_t numbers[values_of_block];
    constexpr int below = precision_of<T> - plane_bits;
    for (int i = 0; i < values_of_block; ++i)
      numbers[i] = static_cast<std::uint32_t>(its[place<T>(order[i])] >> below);
    int known = 0;
    put_planes(to, numbers, planes < plane_bits ? plane_bits - planes : 0, known);
    if (planes <= plane_bits) continue;
    for (int i = 0; i < values_of_block; ++i)
      numbers[i] = static_cast<std::uint32_t>(its[place<T>(order[i])]);
    put_planes(to, numbers, 2 * plane_bits - planes, known);
  }
}

template <typename T>
FOREBAY_INLINE void take_blocks(Reader& from, Values<T>& values, int count, int least_exponent) {
  using Traits = zfp_blocks::Traits<T>;
  Cut<T> cut;
  typename Traits::Unsigned all[beside<T> * values_of_block];
  for (int b = 0; b < beside<T>; ++b) {
    int exponent = -bias<T>, planes = 0;
    if (b < count && from.take(1) != 0) {
      exponent = static_cast<int>(from.take(Traits::exponent_bits)) - bias<T>;
      planes = planes_of<T>(exponent, least_exponent);
    }
    cut.note(b, exponent, planes);
    auto* const its = all + edge * b;
    if (planes == 0) {
      for (int i = 0; i < values_of_block; ++i) its[place<T>(i)] = 0;
      continue;
    }
    std::uint32_t numbers[values_of_block];
    constexpr int below = precision_of<T> - plane_bits;
    int known = 0;
    take_planes(from, numbers, planes < plane_bits ? plane_bits - planes : 0, known);
    for (int i = 0; i < values_of_block; ++i)
      its[place<T>(order[i])] = static_cast<typename Traits::Unsigned>(numbers[i]) << below;
    if (planes > plane_bits) {
      take_planes(from, numbers, 2 * plane_bits - planes, known);
      for (int i = 0; i < values_of_block; ++i) its[place<T>(order[i])] |= numbers[i];
    }
  }
  if (!cut.any) return static_cast<void>(std::memset(values, 0, sizeof values));
  Rows<T> rows;
  std::memcpy(rows, all, sizeof rows);
  from_integers<T>(rows, cut, values);
}

// Gives what take_blocks() would read from the output of put_blocks().
template <typename T>
FOREBAY_INLINE void round_blocks(Rows<T>& rows, const Cut<T>& cut, Values<T>& values) {
  using Number = typename Traits<T>::Unsigned;
  const auto kept = of_each<T, typename Row<T>::Unsigned>(cut, [](int, int planes) {
    return static_cast<Number>(~Number{0} << (precision_of<T> - planes));
  });
#pragma GCC unroll 4
  for (auto& z : rows)
#pragma GCC unroll 4
    for (auto& row : z) row &= kept;
  from_integers<T>(rows, cut, values);
}

/// The lengths of a field. It visits blocks in order, neighbours along x together.
template <typename T>
struct Grid {
  std::size_t nz, ny, nx;
  // Calls f(offset of the first element, elements along z, y, x) until it returns false.
  template <typename F>
  FOREBAY_INLINE bool each(F&& f) const {
    constexpr std::size_t step = lanes<T>;
    const auto left = [](std::size_t n, std::size_t at, std::size_t most) {
      return n - at < most ? n - at : most;
    };
    for (std::size_t z = 0; z < nz; z += edge)
      for (std::size_t y = 0; y < ny; y += edge)
        for (std::size_t x = 0; x < nx; x += step)
          if (!f((z * ny + y) * nx + x, left(nz, z, edge), left(ny, y, edge), left(nx, x, step)))
            return false;
    return true;
  }
};

FOREBAY_INLINE int blocks_of(std::size_t nx) { return static_cast<int>((nx + edge - 1) / edge); }

// Values beyond the end of an axis of n values: the last one repeated, and the first one at place
// 3.
constexpr std::uint8_t padding[edge + 1][edge] = {
    {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 1, 0}, {0, 1, 2, 0}, {0, 1, 2, 3}};

// Loads a row of `n` values; the last block is padded, and zeros follow.
template <typename T>
FOREBAY_INLINE typename Row<T>::Values load_row(const T* row, std::size_t n) {
  if (n == lanes<T>) return load<typename Row<T>::Values>(row);
  typename Row<T>::Values v{};
  for (std::size_t x = 0; x < n; x += edge)
    for (std::size_t i = 0; i < edge; ++i)
      v[x + i] = row[x + padding[n - x < edge ? n - x : edge][i]];
  return v;
}

template <typename T>
FOREBAY_INLINE void load_blocks(const T* values, const Grid<T>& grid, std::size_t nz,
                                std::size_t ny, std::size_t nx, Values<T>& rows) {
#pragma GCC unroll 4
  for (std::size_t z = 0; z < edge; ++z)
#pragma GCC unroll 4
    for (std::size_t y = 0; y < edge; ++y)
      rows[z][y] = load_row<T>(values + (padding[nz][z] * grid.ny + padding[ny][y]) * grid.nx, nx);
}

template <typename T>
FOREBAY_INLINE void store_blocks(const Values<T>& rows, const Grid<T>& grid, std::size_t nz,
                                 std::size_t ny, std::size_t nx, T* values) {
  for (std::size_t z = 0; z < nz; ++z) {
    for (std::size_t y = 0; y < ny; ++y) {
      T* const row = values + (z * grid.ny + y) * grid.nx;
      if (nx == lanes<T>)
        store(row, rows[z][y]);
      else
        for (std::size_t x = 0; x < nx; ++x) row[x] = rows[z][y][x];
    }
  }
}

// `back` gets the decoded values, if it is not null.
template <typename T>
std::size_t compress(const T* values, const Grid<T>& grid, int least_exponent, std::byte* out,
                     T* back) {
  Writer to(out);
  grid.each([&](std::size_t at, std::size_t nz, std::size_t ny, std::size_t nx) {
    Values<T> blocks;
    load_blocks<T>(values + at, grid, nz, ny, nx, blocks);
    const Cut<T> cut = cut_of<T>(blocks, least_exponent);
    if (cut.any) {
      Rows<T> rows;
      to_integers<T>(blocks, cut, rows);
      put_blocks<T>(to, cut, rows, blocks_of(nx));
      if (back != nullptr) round_blocks<T>(rows, cut, blocks);
    } else {
      to.put(0, blocks_of(nx));
      std::memset(blocks, 0, sizeof blocks);
    }
    if (back != nullptr) store_blocks<T>(blocks, grid, nz, ny, nx, back + at);
    return true;
  });
  return to.finish();
}

// Returns the number of bits read, or none_fits if the stream ends before the field.
template <typename T>
std::size_t decompress(const std::byte* stream, std::size_t size, T* values, const Grid<T>& grid,
                       int least_exponent) {
  // When blocks could reach beyond the end, the rest is read from a copy followed by zeros.
  constexpr std::size_t most = beside<T> * most_block_bytes + look_ahead;
  std::byte tail[2 * most];
  std::size_t before = 0;
  bool at_end = false;
  Reader from(stream);
  const bool whole = grid.each([&](std::size_t at, std::size_t nz, std::size_t ny, std::size_t nx) {
    if (!at_end && from.bits() / 8 + most > size) {
      at_end = true;
      before = from.bits() / 8;
      if (before > size) return false;
      std::memset(tail, 0, sizeof tail);
      if (size > before) std::memcpy(tail, stream + before, size - before);
      from.move(tail, from.bits() % 8);
    }
    if (at_end && from.bits() > 8 * (size - before)) return false;
    Values<T> blocks;
    take_blocks<T>(from, blocks, blocks_of(nx), least_exponent);
    store_blocks<T>(blocks, grid, nz, ny, nx, values + at);
    return true;
  });
  const std::size_t bits = 8 * before + from.bits();
  return whole && bits <= 8 * size ? bits : none_fits;
}

}  // namespace
}  // namespace forebay::zfp_blocks

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace forebay::zfp_blocks {
namespace {

template <typename T>
Grid<T> grid_of(const ZfpField& field) {
  return {field.shape[0], field.shape[1], field.shape[2]};
}

template <typename T>
T* values_of(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}

// libzfp's words may have 8 to 64 bits; on a little-endian machine only the size depends on it.
std::size_t whole_words(std::size_t bits) {
  return (bits + stream_word_bits - 1) / stream_word_bits * (stream_word_bits / 8);
}

// The x with 2^x <= tolerance.
int least_exponent_of(double tolerance) {
  return tolerance > 0 ? std::ilogb(tolerance) : ZFP_MIN_EXP;
}

}  // namespace

bool can(const ZfpField& field, const ZfpMode& mode) {
  static const bool has = __builtin_cpu_supports("avx2") != 0 &&
                          __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  const bool floating = field.type == Type::float32 || field.type == Type::float64;
  return has && floating && mode.kind == ZfpMode::Kind::accuracy && field.shape.size() == 3;
}

std::size_t compress(const ZfpField& field, double tolerance, std::span<std::byte> out,
                     std::byte* back) {
  const int least = least_exponent_of(tolerance);
  const auto by = [&]<typename T>(T*) {
    return compress<T>(values_of<T>(field.values), grid_of<T>(field), least, out.data(),
                       values_of<T>(back));
  };
  return whole_words(field.type == Type::float32 ? by(values_of<float>(nullptr))
                                                 : by(values_of<double>(nullptr)));
}

std::optional<std::size_t> decompress(std::span<const std::byte> stream, const ZfpField& field,
                                      double tolerance) {
  const int least = least_exponent_of(tolerance);
  const auto by = [&]<typename T>(T* values) {
    return decompress<T>(stream.data(), stream.size(), values, grid_of<T>(field), least);
  };
  const std::size_t used = field.type == Type::float32 ? by(values_of<float>(field.values))
                                                       : by(values_of<double>(field.values));
  if (used == none_fits) return {};
  return whole_words(used);
}

}  // namespace forebay::zfp_blocks

#else

namespace forebay::zfp_blocks {

bool can(const ZfpField&, const ZfpMode&) { return false; }
std::size_t compress(const ZfpField&, double, std::span<std::byte>, std::byte*) { return 0; }
std::optional<std::size_t> decompress(std::span<const std::byte>, const ZfpField&, double) {
  return {};
}

}  // namespace forebay::zfp_blocks

#endif
