#include "array/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "array/convert_kernels.h"
#include "base/byteorder.h"

namespace forebay {
namespace convert_test {

using Bytes = std::vector<std::byte>;
__extension__ typedef __int128 Wide;

constexpr Type numbers[] = {Type::byte,  Type::int16,  Type::int32,  Type::float32, Type::float64,
                            Type::uint8, Type::uint16, Type::uint32, Type::int64,   Type::uint64};

// Calls f with a zero of the C++ type whose memory form `type` is.
template <typename F>
void with_native(Type type, F f) {
  switch (type) {
    case Type::byte:
      return f(std::int8_t{});
    case Type::int16:
      return f(std::int16_t{});
    case Type::int32:
      return f(std::int32_t{});
    case Type::float32:
      return f(float{});
    case Type::float64:
      return f(double{});
    case Type::uint8:
      return f(std::uint8_t{});
    case Type::uint16:
      return f(std::uint16_t{});
    case Type::uint32:
      return f(std::uint32_t{});
    case Type::int64:
      return f(std::int64_t{});
    case Type::uint64:
      return f(std::uint64_t{});
    default:
      FAIL() << "not a number";
  }
}

// ---- The slow reference: exact arithmetic, one value at a time, from the rules in convert.h. ----

struct Outcome {
  Bytes native;  // empty where the value is out of range
};

template <typename T>
Bytes bytes_of(T value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Limits of an integer type, written out so that no narrower type takes part.
template <typename T>
Wide greatest() {
  return (Wide{1} << (8 * sizeof(T) - (std::is_signed_v<T> ? 1 : 0))) - 1;
}

template <typename T>
Wide least() {
  return std::is_signed_v<T> ? -greatest<T>() - 1 : 0;
}

template <typename Dst>
Outcome integer_to(Wide x) {
  if constexpr (std::is_integral_v<Dst>) {
    const Wide min = least<Dst>(), max = greatest<Dst>();
    if (x < min || x > max) return {};
  }
  return {bytes_of(static_cast<Dst>(x))};
}

template <typename Dst>
Outcome nan_to_integer() {
  if (std::is_same_v<Dst, std::int32_t> || std::is_same_v<Dst, std::int64_t>)
    return {bytes_of(std::numeric_limits<Dst>::min())};
  if (std::is_same_v<Dst, std::uint64_t>) return {bytes_of(static_cast<Dst>(0x8000000000000000U))};
  return {bytes_of(Dst{0})};
}

template <typename Dst>
Outcome real_to_integer(double x, bool reading) {
  if (std::isnan(x)) return nan_to_integer<Dst>();
  if (std::fabs(x) > 0x1p100) return {};
  const Wide whole = static_cast<Wide>(x);
  const double rest = x - static_cast<double>(whole);  // exact: rest is zero for large x
  const Wide min = least<Dst>(), max = greatest<Dst>();
  if (reading && sizeof(Dst) == 8 && whole == max + 1)
    return {bytes_of(std::numeric_limits<Dst>::max())};
  if (whole < min || (whole == min && rest < 0)) return {};
  if (whole > max || (whole == max && rest > 0)) return {};
  return {bytes_of(static_cast<Dst>(whole))};
}

template <typename Src, typename Dst>
Outcome real_to_real(Src x, bool reading) {
  constexpr double max = 0x1.fffffep127;
  if constexpr (sizeof(Src) == 8) {
    if (!std::isnan(x) && std::fabs(static_cast<double>(x)) > max) return {};
  } else if (std::isinf(x) && !reading) {
    return {};
  }
  return {bytes_of(static_cast<Dst>(x))};
}

template <typename Src, typename Dst>
Outcome reference(Src x, bool reading) {
  if constexpr (std::is_same_v<Src, Dst>) return {bytes_of(x)};
  if constexpr (std::is_integral_v<Src>) {
    return integer_to<Dst>(x);
  } else if constexpr (std::is_integral_v<Dst>) {
    return real_to_integer<Dst>(x, reading);
  } else {
    return real_to_real<Src, Dst>(x, reading);
  }
}

// ---- Values. ----

template <typename T>
std::vector<T> edge_values() {
  std::vector<T> values;
  if constexpr (std::is_integral_v<T>) {
    const auto add = [&](Wide v) {
      if (v >= least<T>() && v <= greatest<T>()) values.push_back(static_cast<T>(v));
    };
    for (int bits = 0; bits <= 64; ++bits)
      for (int d = -2; d <= 2; ++d) add((Wide{1} << bits) + d), add(-(Wide{1} << bits) + d);
    add(0);
  } else {
    for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64})
      for (const double d : {-1.0, -0.5, -0x1p-10, 0.0, 0x1p-10, 0.5, 1.0})
        for (const double sign : {-1.0, 1.0}) {
          const T v = static_cast<T>(sign * (std::ldexp(1.0, bits) + d));
          values.insert(values.end(), {v, std::nextafter(v, T{0}), std::nextafter(v, 2 * v)});
        }
    using Limits = std::numeric_limits<T>;
    for (const T v : {T{0}, T{0.5}, T{0.999}, T{1}, T{1.5}, T{1e30}, Limits::max(), Limits::min(),
                      Limits::denorm_min(), Limits::infinity(), Limits::quiet_NaN(),
                      static_cast<T>(9.9692099683868690e+36), static_cast<T>(0x1.fffffep127),
                      std::nextafter(static_cast<T>(0x1.fffffep127), T{0}),
                      std::nextafter(static_cast<T>(0x1.fffffep127), Limits::infinity()),
                      static_cast<T>(0x1p-130), static_cast<T>(0x1p-149), static_cast<T>(1e-300)})
      values.insert(values.end(), {v, -v});
  }
  return values;
}

template <typename T>
std::vector<T> test_values() {
  std::vector<T> values = edge_values<T>();
  std::mt19937_64 random(sizeof(T));
  for (int i = 0; i < 300; ++i) {
    std::uint64_t bits = random() >> (random() % 64);
    if (random() % 2) bits = ~bits;
    if constexpr (std::is_integral_v<T>) {
      values.push_back(static_cast<T>(bits));
    } else if (i % 2) {
      values.push_back(static_cast<T>(static_cast<std::int64_t>(bits)) / 16);
    } else {
      T v;
      std::memcpy(&v, &bits, sizeof v);
      values.push_back(v);
    }
  }
  return values;
}

// Returns values that are small enough for every type. Blocks of these take the fast way.
template <typename T>
std::vector<T> tame_values() {
  std::vector<T> values(128);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

// ---- The check. ----

struct Case {
  Type ext, mem;
  bool reading;
  Type from() const { return reading ? ext : mem; }
  Type to() const { return reading ? mem : ext; }
  std::string name() const {
    return std::string(name_of(mem)) + (reading ? " from external " : " to external ") +
           name_of(ext);
  }
};

// One of the ways to run a conversion: through the interface, or one instruction set's kernel.
using Runner = bool (*)(const Case&, std::byte* dst, const std::byte* src, std::int64_t n,
                        const std::byte* fill);

bool run_interface(const Case& c, std::byte* dst, const std::byte* src, std::int64_t n,
                   const std::byte* fill) {
  return c.reading ? from_external(c.ext, src, c.mem, dst, n, fill)
                   : to_external(c.ext, dst, c.mem, src, n, fill);
}

bool run_kernel(const convert_detail::Kernels& kernels, const Case& c, std::byte* dst,
                const std::byte* src, std::int64_t n, const std::byte* fill) {
  if (c.ext == c.mem) return run_interface(c, dst, src, n, fill);
  const auto e = static_cast<std::size_t>(c.ext), m = static_cast<std::size_t>(c.mem);
  const auto kernel = (c.reading ? kernels.from_external : kernels.to_external)[e][m];
  std::byte standard[8];
  default_fill(c.to(), standard);
  return kernel(dst, src, n, fill != nullptr ? fill : standard);
}

bool run_portable(const Case& c, std::byte* dst, const std::byte* src, std::int64_t n,
                  const std::byte* fill) {
  return run_kernel(convert_detail::portable_kernels, c, dst, src, n, fill);
}

Bytes reversed_elements(Bytes bytes, int width) {
  if (native_is_big_endian) return bytes;
  for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(width))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at) + width);
  return bytes;
}

struct Expected {
  Bytes source, result;
  bool out_of_range = false;
};

// Returns source bytes, and the bytes and flag that the reference expects, for n values in turn.
template <typename T>
Expected expected_for(const Case& c, const std::vector<T>& values, std::size_t n,
                      const Bytes& fill) {
  Expected e;
  for (std::size_t i = 0; i < n; ++i) {
    const T x = values[i % values.size()];
    const Bytes in = bytes_of(x);
    e.source.insert(e.source.end(), in.begin(), in.end());
    with_native(c.to(), [&](auto zero) {
      const Outcome outcome = reference<T, decltype(zero)>(x, c.reading);
      const Bytes& out = outcome.native.empty() ? fill : outcome.native;
      e.out_of_range |= outcome.native.empty();
      e.result.insert(e.result.end(), out.begin(), out.end());
    });
  }
  (c.reading ? e.source : e.result) =
      reversed_elements(c.reading ? e.source : e.result, size_of(c.ext));
  return e;
}

// Repeats one value over a whole block, so that no other value decides how the block is converted.
Expected repeated(const Expected& one, int n) {
  Expected e{{}, {}, one.out_of_range};
  for (int i = 0; i < n; ++i) {
    e.source.insert(e.source.end(), one.source.begin(), one.source.end());
    e.result.insert(e.result.end(), one.result.begin(), one.result.end());
  }
  return e;
}

// NaNs compare equal whatever their payload; all else bit by bit.
bool same_result(const Case& c, const Bytes& a, const Bytes& b) {
  if (a == b) return true;
  bool same = a.size() == b.size();
  with_native(c.to(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; same && at < a.size(); at += sizeof(T)) {
      T x, y;
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      if (!c.reading) x = load_be<T>(a.data() + at), y = load_be<T>(b.data() + at);
      if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(x) && std::isnan(y)) continue;
      same = bytes_of(x) == bytes_of(y);
    }
  });
  return same;
}

Bytes fill_bytes(Type type, bool custom) {
  Bytes fill(8);
  default_fill(type, fill.data());
  fill.resize(static_cast<std::size_t>(size_of(type)));
  if (custom) with_native(type, [&](auto zero) { fill = bytes_of(decltype(zero){42}); });
  return fill;
}

void check(const Case& c, Runner runner, const Expected& e, std::size_t n, std::size_t src_offset,
           std::size_t dst_offset, const std::byte* fill) {
  constexpr auto untouched = std::byte{0xA5};
  Bytes source(src_offset), target(dst_offset + e.result.size() + 16, untouched);
  source.insert(source.end(), e.source.begin(), e.source.end());
  const bool bad = runner(c, target.data() + dst_offset, source.data() + src_offset,
                          static_cast<std::int64_t>(n), fill);
  ASSERT_EQ(bad, e.out_of_range) << c.name() << " n " << n;
  const auto begin = target.begin() + static_cast<std::ptrdiff_t>(dst_offset);
  const auto end = begin + static_cast<std::ptrdiff_t>(e.result.size());
  ASSERT_TRUE(same_result(c, Bytes(begin, end), e.result))
      << c.name() << " n " << n << " offsets " << src_offset << ' ' << dst_offset;
  const auto is_untouched = [](std::byte b) { return b == untouched; };
  ASSERT_TRUE(std::all_of(target.begin(), begin, is_untouched)) << c.name();
  ASSERT_TRUE(std::all_of(end, target.end(), is_untouched)) << c.name();
}

void check_pair(const Case& c, Runner runner) {
  with_native(c.from(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = test_values<T>();
    auto mixed = tame_values<T>();  // one block is tame, the others are not
    mixed.insert(mixed.end(), values.begin(), values.end());
    for (const bool custom : {false, true}) {
      const Bytes fill = fill_bytes(c.to(), custom);
      const std::byte* fill_argument = custom ? fill.data() : nullptr;
      for (const T x : values) {
        const auto e = expected_for<T>(c, {x}, 1, fill);
        ASSERT_NO_FATAL_FAILURE(check(c, runner, e, 1, 0, 0, fill_argument)) << +x;
        if (custom) continue;
        ASSERT_NO_FATAL_FAILURE(check(c, runner, repeated(e, 64), 64, 0, 0, fill_argument)) << +x;
      }
      for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{63}, std::size_t{64},
                                  std::size_t{65}, mixed.size()}) {
        const auto e = expected_for(c, mixed, n, fill);
        ASSERT_NO_FATAL_FAILURE(check(c, runner, e, n, 0, 0, fill_argument));
      }
    }
    const Bytes fill = fill_bytes(c.to(), false);
    const auto e = expected_for(c, mixed, 129, fill);
    for (std::size_t offset = 0; offset < 64; ++offset)
      ASSERT_NO_FATAL_FAILURE(check(c, runner, e, 129, offset / 8, offset % 8, nullptr));
  });
}

void check_all_pairs(Runner runner) {
  for (const Type ext : numbers)
    for (const Type mem : numbers)
      for (const bool reading : {false, true})
        ASSERT_NO_FATAL_FAILURE(check_pair({ext, mem, reading}, runner));
}

TEST(Convert, every_pair_agrees_with_the_reference) { check_all_pairs(run_interface); }

TEST(Convert, portable_kernels_agree_with_the_reference) { check_all_pairs(run_portable); }

// ---- Rules worth stating one by one. ----

template <typename Mem>
bool written(Type ext, Mem value, Bytes* external, const std::byte* fill = nullptr) {
  external->assign(static_cast<std::size_t>(size_of(ext)), std::byte{0});
  return to_external(ext, external->data(), type_of<Mem>(), &value, 1, fill);
}

TEST(Convert, value_out_of_range_is_replaced_and_the_others_are_written) {
  const int values[] = {7, 40000, -8};
  std::byte external[6];
  EXPECT_TRUE(to_external(Type::int16, external, Type::int32, values, 3, nullptr));
  EXPECT_EQ(load_be<std::int16_t>(external), 7);
  EXPECT_EQ(load_be<std::int16_t>(external + 2), -32767);
  EXPECT_EQ(load_be<std::int16_t>(external + 4), -8);
  const std::int16_t fill = 99;
  EXPECT_TRUE(to_external(Type::int16, external, Type::int32, values, 3,
                          reinterpret_cast<const std::byte*>(&fill)));
  EXPECT_EQ(load_be<std::int16_t>(external + 2), 99);
}

TEST(Convert, fractions_are_cut_toward_zero_but_only_inside_the_range) {
  Bytes b;
  EXPECT_FALSE(written(Type::byte, -1.9, &b));
  EXPECT_EQ(load_be<std::int8_t>(b.data()), -1);
  EXPECT_FALSE(written(Type::byte, 126.9F, &b));
  EXPECT_EQ(load_be<std::int8_t>(b.data()), 126);
  EXPECT_TRUE(written(Type::byte, 127.1, &b));
  EXPECT_TRUE(written(Type::byte, -128.1, &b));
  EXPECT_TRUE(written(Type::uint8, -0.1, &b));
  EXPECT_FALSE(written(Type::uint8, -0.0, &b));
}

TEST(Convert, nan_is_never_out_of_range) {
  Bytes b;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Type ext : numbers) EXPECT_FALSE(written(ext, nan, &b)) << name_of(ext);
  EXPECT_FALSE(written(Type::float32, nan, &b));
  EXPECT_TRUE(std::isnan(load_be<float>(b.data())));
}

TEST(Convert, infinity_fits_only_its_own_type_on_the_way_out) {
  Bytes b;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(written(Type::float32, inf, &b));
  EXPECT_TRUE(written(Type::float64, inf, &b));
  EXPECT_TRUE(written(Type::float32, double{inf}, &b));
  EXPECT_EQ(load_be<float>(b.data()), 0x1.ep122F);
  std::byte external[4];
  store_be(external, inf);
  double read = 0;
  EXPECT_FALSE(from_external(Type::float32, external, Type::float64, &read, 1, nullptr));
  EXPECT_EQ(read, double{inf});
}

TEST(Convert, two_to_the_63_is_out_of_range_for_int64_only_when_written) {
  Bytes b;
  EXPECT_TRUE(written(Type::int64, 0x1p63, &b));
  EXPECT_FALSE(written(Type::int64, -0x1p63, &b));
  std::byte external[8];
  store_be(external, 0x1p63);
  std::int64_t read = 0;
  EXPECT_FALSE(from_external(Type::float64, external, Type::int64, &read, 1, nullptr));
  EXPECT_EQ(read, std::numeric_limits<std::int64_t>::max());
}

TEST(Convert, bytes_as_unsigned_char_are_raw_in_cdf1_and_cdf2_only) {
  for (const int version : {1, 2}) {
    EXPECT_EQ(external_for(Type::byte, Type::uint8, version), Type::uint8);
    EXPECT_EQ(external_for(Type::byte, Type::byte, version), Type::byte);
    EXPECT_EQ(external_for(Type::byte, Type::int16, version), Type::byte);
    EXPECT_EQ(external_for(Type::int16, Type::uint8, version), Type::int16);
  }
  EXPECT_EQ(external_for(Type::byte, Type::uint8, 5), Type::byte);
  EXPECT_EQ(external_for(Type::uint8, Type::byte, 5), Type::uint8);
  Bytes b;
  const unsigned char value = 200;
  EXPECT_TRUE(written(external_for(Type::byte, Type::uint8, 5), value, &b));
  EXPECT_FALSE(written(external_for(Type::byte, Type::uint8, 1), value, &b));
  EXPECT_EQ(b[0], std::byte{200});
}

TEST(Convert, text_converts_to_text_only) {
  for (const Type type : numbers) {
    EXPECT_FALSE(convertible(Type::chr, type));
    EXPECT_FALSE(convertible(type, Type::chr));
    for (const Type other : numbers) EXPECT_TRUE(convertible(type, other));
  }
  EXPECT_TRUE(convertible(Type::chr, Type::chr));
  EXPECT_FALSE(convertible(Type::none, Type::int32));
  EXPECT_FALSE(convertible(Type::int32, Type::none));
  std::byte external[3];
  EXPECT_FALSE(to_external(Type::chr, external, Type::chr, "abc", 3, nullptr));
  EXPECT_EQ(std::memcmp(external, "abc", 3), 0);
}

TEST(Convert, same_type_converts_in_place) {
  for (const Type type : numbers) {
    ASSERT_TRUE(is_plain_copy(type, type));
    Bytes data(257 * static_cast<std::size_t>(size_of(type)));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
    const Bytes before = data;
    EXPECT_FALSE(to_external(type, data.data(), type, data.data(), 257, nullptr));
    EXPECT_EQ(data, reversed_elements(before, size_of(type)));
    EXPECT_FALSE(from_external(type, data.data(), type, data.data(), 257, nullptr));
    EXPECT_EQ(data, before);
  }
  EXPECT_FALSE(is_plain_copy(Type::byte, Type::uint8));
}

}  // namespace convert_test
}  // namespace forebay
