#include "codec/quantise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "array/missing.h"
#include "base/error.h"
#include "codec/chunks_testing.h"
#include "codec/codec_stage.h"

namespace forebay::quantise_test {

using namespace codec_test;

constexpr Quantiser bitgroom = Quantiser::bitgroom, granularbr = Quantiser::granularbr,
                    bitround = Quantiser::bitround;

template <typename T>
MissingTest<T> missing(std::vector<T> values = {T(9.969209968386869e+36)}) {
  MissingTest<T> test;
  test.values = std::move(values);
  return test;
}

template <typename T>
std::vector<T> quantised(Quantiser how, int number, std::vector<T> values,
                         const MissingTest<T>& is_missing = missing<T>()) {
  quantise(Quantisation{how, number}, std::span<T>(values), is_missing);
  return values;
}

template <typename Word, typename T>
std::vector<Word> bits_of(const std::vector<T>& values) {
  std::vector<Word> bits(values.size());
  std::ranges::transform(values, bits.begin(), [](T v) { return std::bit_cast<Word>(v); });
  return bits;
}

template <typename Word>
struct Known {
  Quantiser how;
  int number;
  std::vector<Word> bits;
};

// What netCDF-C 4.10.1 wrote. The last but three of the values is the fill value.
TEST(Quantise, gives_the_bits_that_netcdf_gives_for_floats) {
  const std::vector<float> values{3.14159274F, -3.14159274F,   999.9F,     1000,   0.1F, 1e-40F,
                                  -0.0F,       9.96920997e36F, 123456.79F, -65504, NAN,  8191.7F};
  const std::vector<Known<std::uint32_t>> all{
      {bitgroom,
       3,
       {0x40490000, 0xc0490fff, 0x4479f000, 0x447a0fff, 0x3dccc000, 0x00011fff, 0x80000000,
        0x7cf00000, 0x47f12000, 0xc77fefff, 0x7fc00000, 0x45ffffff}},
      {granularbr,
       3,
       {0x40490000, 0xc0490000, 0x447a0000, 0x447a0000, 0x3dcc0000, 0x00012000, 0x80000000,
        0x7cf00000, 0x47f10000, 0xc7800000, 0x7fc00000, 0x46000000}},
      {bitround,
       9,
       {0x40490000, 0xc0490000, 0x447a0000, 0x447a0000, 0x3dccc000, 0x00010000, 0x80000000,
        0x7cf00000, 0x47f14000, 0xc7800000, 0x7fc00000, 0x46000000}},
      {bitgroom,
       1,
       {0x40480000, 0xc04bffff, 0x44780000, 0x447bffff, 0x3dcc0000, 0x0003ffff, 0x80000000,
        0x7cf00000, 0x47f00000, 0xc77fffff, 0x7fc00000, 0x45ffffff}},
      {granularbr,
       1,
       {0x40400000, 0xc0400000, 0x44800000, 0x44800000, 0x3e000000, 0x00000000, 0x80000000,
        0x7cf00000, 0x48000000, 0xc7800000, 0x7fc00000, 0x46000000}},
      {bitround,
       1,
       {0x40400000, 0xc0400000, 0x44800000, 0x44800000, 0x3dc00000, 0x00000000, 0x80000000,
        0x7cf00000, 0x48000000, 0xc7800000, 0x7fc00000, 0x46000000}},
      {bitgroom,
       6,
       {0x40490fd8, 0xc0490fdb, 0x4479f998, 0x447a0003, 0x3dcccccc, 0x000116c3, 0x80000000,
        0x7cf00000, 0x47f12064, 0xc77fe003, 0x7fc00000, 0x45fffd9b}},
      {granularbr,
       6,
       {0x40490fe0, 0xc0490fe0, 0x4479f9a0, 0x447a0000, 0x3dcccd00, 0x000116c0, 0x80000000,
        0x7cf00000, 0x47f12080, 0xc77fe000, 0x7fc00000, 0x45fffda0}},
      {bitround,
       23,
       {0x40490fdb, 0xc0490fdb, 0x4479f99a, 0x447a0000, 0x3dcccccd, 0x000116c2, 0x80000000,
        0x7cf00000, 0x47f12065, 0xc77fe000, 0x7fc00000, 0x45fffd9a}}};
  for (const auto& [how, number, bits] : all)
    EXPECT_EQ(bits_of<std::uint32_t>(quantised(how, number, values)), bits)
        << static_cast<int>(how) << " " << number;
}

TEST(Quantise, gives_the_bits_that_netcdf_gives_for_doubles) {
  const std::vector<double> values{3.141592653589793, 999.9,  1000, 0.1,  1e-310, 0.0,
                                   123456.789,        -65504, NAN,  1e300};
  const std::vector<Known<std::uint64_t>> all{
      {granularbr,
       3,
       {0x4009200000000000, 0x408f400000000000, 0x408f400000000000, 0x3fb9800000000000,
        0x0000200000000000, 0x0000000000000000, 0x40fe200000000000, 0xc0f0000000000000,
        0x7ff8000000000000, 0x7e37e00000000000}},
      {bitround,
       9,
       {0x4009200000000000, 0x408f400000000000, 0x408f400000000000, 0x3fb9980000000000,
        0x0000100000000000, 0x0000000000000000, 0x40fe280000000000, 0xc0f0000000000000,
        0x7ff8000000000000, 0x7e37e80000000000}},
      {granularbr,
       6,
       {0x400921fc00000000, 0x408f3f3400000000, 0x408f400000000000, 0x3fb999a000000000,
        0x0000126800000000, 0x0000000000000000, 0x40fe241000000000, 0xc0effc0000000000,
        0x7ff8000000000000, 0x7e37e44000000000}}};
  for (const auto& [how, number, bits] : all)
    EXPECT_EQ(bits_of<std::uint64_t>(quantised(how, number, values)), bits)
        << static_cast<int>(how) << " " << number;
  // Bits are cleared at even places and set at odd ones.
  EXPECT_EQ(
      bits_of<std::uint64_t>(quantised<double>(bitgroom, 3, {999.9, 999.9, -1000, 0})),
      (std::vector<std::uint64_t>{0x408f3e0000000000, 0x408f3fffffffffff, 0xc08f400000000000, 0}));
}

TEST(Quantise, missing_values_stay_and_no_value_becomes_one) {
  const float infinite = std::numeric_limits<float>::infinity();
  MissingTest<float> is_missing = missing<float>({-999});
  is_missing.most = 1000;
  const std::vector<float> stay{-999, -999.1F, 1234.567F, 999.99F, infinite, -infinite, -FLT_MAX};
  for (const auto& [how, number] : {std::pair{bitround, 9}, {granularbr, 3}, {bitround, 1}}) {
    if (number == 9)  // -999 has so many bits
      EXPECT_EQ(quantised(how, number, stay, is_missing)[1], -999.1F);
    const auto made = quantised(how, number, stay, is_missing);
    for (const std::size_t i : {0U, 2U, 4U, 5U}) EXPECT_EQ(made[i], stay[i]) << i;
    EXPECT_LE(made[3], 1000);
    EXPECT_EQ(std::isfinite(made[6]), true);
  }
  EXPECT_EQ(quantised<float>(bitround, 9, {-999.1F})[0], -999);
}

TEST(Quantise, more_digits_than_a_float_has_change_nothing) {
  const Chunk chunk = make_chunk(Type::float32, {1000}, Values::bits);
  std::vector<float> values(1000);
  std::memcpy(values.data(), chunk.raw.data(), chunk.raw.size());
  EXPECT_EQ(bits_of<std::uint32_t>(quantised(bitgroom, 7, values)), bits_of<std::uint32_t>(values));
  // Of powers of two one bit more is wanted.
  EXPECT_EQ(quantised<float>(granularbr, 7, {8192}), std::vector<float>{8192});
}

TEST(Quantise, a_second_time_changes_only_what_was_rounded_up_to_a_power_of_ten) {
  std::mt19937_64 random(3);
  for (const auto& [how, number] :
       {std::pair{bitgroom, 3}, {bitround, 7}, {granularbr, 1}, {granularbr, 2}, {granularbr, 5}}) {
    std::vector<double> values(100000);
    for (double& v : values) v = std::pow(10, static_cast<double>(random() % 1000003) / 1e5);
    const auto once = quantised(how, number, values);
    auto twice = quantised(how, number, once);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (twice[i] == once[i]) continue;
      ASSERT_EQ(how, granularbr) << values[i];
      const double power = std::pow(10, std::round(std::log10(once[i])));
      ASSERT_TRUE(values[i] <= power && once[i] >= power * (1 - 1e-12))
          << values[i] << " " << once[i] << " " << twice[i];
      ASSERT_LE(std::fabs(twice[i] - values[i]), 0.55 * power * std::pow(10, 1 - number));
    }
    EXPECT_EQ(quantised(how, number, twice), twice) << number;
  }
}

TEST(QuantisingStage, takes_what_its_type_has) {
  EXPECT_EQ(Pipeline::parse("bitgroom:3").text(), "bitgroom:digits=3");
  const Pipeline digits = Pipeline::parse("granularbr:digits=8,shuffle,zstd");
  EXPECT_EQ(digits.for_type(Type::float64).text(), "granularbr:digits=8,shuffle,zstd:3");
  EXPECT_EQ(digits.for_type(Type::float32).text(), "shuffle,zstd:3");
  EXPECT_EQ(digits.for_type(Type::int32).text(), "shuffle,zstd:3");
  EXPECT_EQ(digits.lossless().text(), "shuffle,zstd:3");
  EXPECT_TRUE(digits.lossy());
  EXPECT_EQ(Pipeline::parse("bitround:bits=24").for_type(Type::float32).text(), "none");
  for (const char* text :
       {"bitround", "bitround:digits=3", "bitround:bits=53", "bitgroom:digits=0",
        "granularbr:digits=16", "shuffle,bitround:bits=3", "float32,bitround:bits=3",
        "bitround:bits=3,float32", "bitround:bits=3,zfp:rate=8", "zstd,bitround:bits=3",
        "bitround:bits=3,bitround:bits=3", "bitround:bits=3,checksum"})
    EXPECT_THROW(Pipeline::parse(text), Error) << text;
}

TEST(QuantisingStage, tells_its_number_and_attributes) {
  const auto by = quantisation_of("bitround:bits=9,shuffle,zstd:3");
  ASSERT_TRUE(by);
  EXPECT_EQ(by->how, bitround);
  EXPECT_EQ(by->number, 9);
  EXPECT_STREQ(by->netcdf_attribute(), "_QuantizeBitRoundNumberOfSignificantBits");
  EXPECT_STREQ(by->cf_attribute(), "quantization_nsb");
  EXPECT_STREQ(quantisation_of("granularbr:digits=2")->netcdf_attribute(),
               "_QuantizeGranularBitRoundNumberOfSignificantDigits");
  EXPECT_STREQ(quantisation_of("bitgroom:digits=2")->netcdf_attribute(),
               "_QuantizeBitGroomNumberOfSignificantDigits");
  EXPECT_STREQ(quantisation_of("bitgroom:digits=2")->cf_attribute(), "quantization_nsd");
  for (const char* text : {"", "none", "shuffle,zstd:3"}) EXPECT_FALSE(quantisation_of(text));
}

template <typename T>
std::vector<T> natives(const std::vector<std::byte>& raw) {
  std::vector<T> values(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_be<T>(raw.data() + i * sizeof(T));
  return values;
}

template <typename T>
void expect_quantised(const char* text, Chunk chunk, CodecWorkspace& workspace) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Pipeline pipeline = Pipeline::parse(text);
  MissingRule rule;
  rule.values = {50, -3};
  chunk.info.missing = std::make_shared<MissingRule>(rule);
  for (std::size_t i = 0; i < 3; ++i) store_be(chunk.raw.data() + i * sizeof(T), T(50));
  std::vector<T> wanted = natives<T>(chunk.raw);
  quantise(*quantisation_of(text), std::span<T>(wanted), missing<T>({T(50), T(-3)}));
  const Trip trip = round_trip(pipeline, chunk, workspace);
  EXPECT_EQ(bits_of<Word>(natives<T>(trip.raw)), bits_of<Word>(wanted)) << text;
  EXPECT_LE(trip.stored.size(), chunk.raw.size());
  // From native elements the same bytes are made.
  Chunk native = chunk;
  native.info.native = true;
  copy_swapped(native.raw.data(), chunk.raw.data(), chunk.raw.size(), sizeof(T));
  const Trip other = round_trip(pipeline, native, workspace);
  EXPECT_EQ(other.stored, trip.stored) << text;
  EXPECT_EQ(other.skipped, trip.skipped);
  EXPECT_EQ(std::memcmp(other.raw.data(), wanted.data(), other.raw.size()), 0) << text;
}

// Small chunks and those that become no smaller are stored without any stage.
TEST(QuantisingStage, changes_every_chunk_however_it_is_stored) {
  CodecWorkspace workspace;
  for (const char* text : {"bitgroom:digits=2,shuffle,zstd", "granularbr:digits=3,bitshuffle",
                           "bitround:bits=5,deflate:1", "bitround:bits=20", "bitgroom:digits=5"})
    for (const Values kind : all_values)
      for (const Count n : {5, 4096}) {
        expect_quantised<float>(text, make_chunk(Type::float32, {n}, kind), workspace);
        expect_quantised<double>(text, make_chunk(Type::float64, {n}, kind), workspace);
      }
}

TEST(QuantisingStage, makes_chunks_smaller_and_keeps_nothing_apart) {
  CodecWorkspace workspace;
  Chunk chunk = make_chunk(Type::float32, {64, 64}, Values::some_nan);
  const Trip exact = round_trip(Pipeline::parse("shuffle,zstd"), chunk, workspace);
  const Trip trip =
      round_trip(Pipeline::parse("granularbr:digits=2,shuffle,zstd"), chunk, workspace);
  EXPECT_EQ(trip.skipped, 0U);
  EXPECT_LT(trip.stored.size() * 3, exact.stored.size() * 2);
  // For other readers a chunk is what it is.
  chunk.info.plain = true;
  const Trip plain =
      round_trip(Pipeline::parse("granularbr:digits=2,shuffle,zstd"), chunk, workspace);
  EXPECT_EQ(plain.skipped, 0U);
  EXPECT_EQ(plain.stored, exact.stored);
}

}  // namespace forebay::quantise_test
