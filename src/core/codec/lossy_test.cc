// Lossy codecs keep their bound for every element of every chunk, or leave the chunk exact. Values
// that are not finite are restored bit for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cfloat>

#include "codec/chunks_testing.h"
#include "codec/codec_stage.h"

namespace forebay {

extern const CodecEntry sz3_codec;

namespace lossy_test {

using namespace codec_test;

struct Bound {
  const char* pipeline;
  double absolute;  // of each element; 0: none promised
};

double largest_error(const Chunk& chunk, const std::vector<std::byte>& decoded) {
  double worst = 0;
  const auto width = static_cast<std::size_t>(size_of(chunk.info.type));
  for (std::size_t at = 0; at < chunk.raw.size(); at += width) {
    if (std::memcmp(chunk.raw.data() + at, decoded.data() + at, width) == 0) continue;
    const double error = std::fabs(as_double(chunk.info.type, chunk.raw.data() + at) -
                                   as_double(chunk.info.type, decoded.data() + at));
    if (!(error <= worst)) worst = error;  // NaN too
    if (std::isnan(error)) return error;
  }
  return worst;
}

class Lossy : public testing::TestWithParam<Bound> {};

TEST_P(Lossy, keeps_its_bound_or_the_exact_chunk) {
  const Pipeline all = Pipeline::parse(GetParam().pipeline);
  ASSERT_TRUE(all.lossy());
  CodecWorkspace workspace;
  std::size_t applied = 0;
  unsigned seed = 0;
  for (const Type type : {Type::float32, Type::float64}) {
    const Pipeline pipeline = all.for_type(type);
    for (const auto& shape : all_shapes()) {
      for (const Values kind : all_values) {
        const Chunk chunk = make_chunk(type, shape, kind, ++seed);
        const Trip trip = round_trip(pipeline, chunk, workspace);
        if ((trip.skipped & 1U) != 0) {
          ASSERT_EQ(trip.raw, chunk.raw) << describe(chunk.info, kind);
          continue;
        }
        ++applied;
        const double error = largest_error(chunk, trip.raw);
        if (GetParam().absolute > 0)
          ASSERT_LE(error, GetParam().absolute) << describe(chunk.info, kind);
        else
          ASSERT_TRUE(std::isfinite(error)) << describe(chunk.info, kind);
      }
    }
  }
  EXPECT_GT(applied, 100U);
}

bool sz3_is_here() { return sz3_codec.make != nullptr; }

std::vector<Bound> bounds() {
  std::vector<Bound> all{{"zfp:accuracy=1e-3", 1e-3},   {"zfp:accuracy=0.7,zstd:1", 0.7},
                         {"zfp:accuracy=1e-12", 1e-12}, {"zfp:accuracy=1e300", 1e300},
                         {"zfp:precision=12", 0},       {"zfp:rate=5.5,deflate:1", 0}};
  if (sz3_is_here())
    all.insert(all.end(), {{"sz3:abs=1e-3", 1e-3},
                           {"sz3:abs=0.7,zstd:1", 0.7},
                           {"sz3:abs=1e300", 1e300},
                           {"sz3:abs=1e-3:mode=speed", 1e-3},
                           {"sz3:abs=1e-3:mode=ratio", 1e-3}});
  return all;
}

std::string name_of_bound(const testing::TestParamInfo<Bound>& test) {
  std::string name = test.param.pipeline;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Codec, Lossy, testing::ValuesIn(bounds()), name_of_bound);

TEST(Sz3, who_has_a_build_without_it_is_told_how_to_get_it) {
  const std::string advice = sz3_codec.how_to_get;
  for (const char* words : {"SZ3_ROOT", "cmake", "pip install"})
    EXPECT_NE(advice.find(words), std::string::npos) << advice;
}

TEST(Sz3, a_relative_bound_is_one_of_the_range_of_each_chunk) {
  if (!sz3_is_here()) GTEST_SKIP() << "this build lacks SZ3";
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("sz3:rel=1e-4");
  std::size_t applied = 0;
  for (const Type type : {Type::float32, Type::float64})
    for (const auto& shape : all_shapes())
      for (const Values kind : all_values) {
        const Chunk chunk = make_chunk(type, shape, kind);
        const Trip trip = round_trip(pipeline, chunk, workspace);
        if ((trip.skipped & 1U) != 0) {
          ASSERT_EQ(trip.raw, chunk.raw) << describe(chunk.info, kind);
          continue;
        }
        ++applied;
        const auto width = static_cast<std::size_t>(size_of(type));
        double least = HUGE_VAL, most = -HUGE_VAL;
        for (std::size_t at = 0; at < chunk.raw.size(); at += width) {
          const double value = as_double(type, chunk.raw.data() + at);
          if (!std::isfinite(value)) continue;
          least = std::min(least, value);
          most = std::max(most, value);
        }
        ASSERT_LE(largest_error(chunk, trip.raw), 1e-4 * std::max(most - least, 0.0))
            << describe(chunk.info, kind);
      }
  EXPECT_GT(applied, 100U);
}

TEST(Sz3, what_is_not_finite_comes_back_bit_for_bit) {
  if (!sz3_is_here()) GTEST_SKIP() << "this build lacks SZ3";
  CodecWorkspace workspace;
  for (const char* text : {"sz3:abs=10,zstd", "sz3:rel=0.5,zstd"})
    for (const Values kind : {Values::nan, Values::some_nan, Values::infinities}) {
      const Chunk chunk = make_chunk(Type::float32, {30, 40}, kind);
      const Trip trip = round_trip(Pipeline::parse(text), chunk, workspace);
      EXPECT_EQ(trip.skipped & 1U, 0U) << text << describe(chunk.info, kind);
      EXPECT_EQ(trip.skipped & keeps_apart, keeps_apart) << text << describe(chunk.info, kind);
      EXPECT_LE(largest_error(chunk, trip.raw), 50) << text << describe(chunk.info, kind);
    }
}

TEST(Sz3, smooth_and_constant_chunks_become_much_smaller) {
  if (!sz3_is_here()) GTEST_SKIP() << "this build lacks SZ3";
  CodecWorkspace workspace;
  for (const char* text : {"sz3:abs=0.1", "sz3:rel=1e-3"})
    for (const auto& shape :
         {std::vector<Count>{6000}, {60, 100}, {10, 20, 30}, {2, 5, 20, 30}, {2, 5, 3, 20, 30}})
      for (const Values kind : {Values::smooth, Values::constant}) {
        const Chunk chunk = make_chunk(Type::float64, shape, kind);
        EXPECT_LT(round_trip(Pipeline::parse(text), chunk, workspace).stored.size(),
                  chunk.raw.size() / 6)
            << text << describe(chunk.info, kind);
      }
}

// Both modes write the same form, so a reader needs no mode. Ratio tries everything on all of a
// chunk, so its chunks are the smallest.
TEST(Sz3, modes_differ_in_size_and_not_in_form) {
  if (!sz3_is_here()) GTEST_SKIP() << "this build lacks SZ3";
  CodecWorkspace workspace;
  const Pipeline usual = Pipeline::parse("sz3:abs=1e-3");
  const Pipeline speed = Pipeline::parse("sz3:abs=1e-3:mode=speed");
  const Pipeline ratio = Pipeline::parse("sz3:abs=1e-3:mode=ratio");
  EXPECT_EQ(speed.text(), "sz3:abs=0.001:mode=speed");
  EXPECT_EQ(ratio.text(), "sz3:abs=0.001:mode=ratio");
  EXPECT_EQ(Pipeline::parse("sz3:rel=0.5:mode=ratio").text(), "sz3:rel=0.5:mode=ratio");
  EXPECT_LT(speed.encode_work(), usual.encode_work());
  EXPECT_GT(ratio.encode_work(), usual.encode_work());
  std::size_t sizes[3] = {};
  for (const auto& shape : {std::vector<Count>{60000}, {300, 200}, {40, 50, 30}}) {
    const Chunk chunk = make_chunk(Type::float64, shape, Values::smooth);
    std::size_t* size = sizes;
    for (const Pipeline* pipeline : {&usual, &speed, &ratio}) {
      const EncodedChunk encoded = pipeline->encode(chunk.info, chunk.raw, workspace);
      const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
      std::vector<std::byte> raw(chunk.raw.size());
      usual.decode(chunk.info, stored, encoded.skipped, raw, workspace);
      ASSERT_LE(largest_error(chunk, raw), 1e-3) << pipeline->text();
      *size++ += stored.size();
    }
  }
  EXPECT_LT(sizes[2], sizes[0]);
  EXPECT_LT(sizes[2], sizes[1]);
}

TEST(Zfp, lossy_modes_keep_what_is_not_finite_bit_for_bit) {
  CodecWorkspace workspace;
  for (const char* text : {"zfp:accuracy=10,zstd", "zfp:precision=8,zstd", "zfp:rate=4,zstd"})
    for (const Type type : {Type::float32, Type::float64})
      for (const Values kind : {Values::nan, Values::some_nan, Values::infinities}) {
        const Chunk chunk = make_chunk(type, {30, 40}, kind);
        const Trip trip = round_trip(Pipeline::parse(text), chunk, workspace);
        EXPECT_EQ(trip.skipped & 1U, 0U) << text << describe(chunk.info, kind);
        EXPECT_EQ(trip.skipped & keeps_apart, keeps_apart) << text << describe(chunk.info, kind);
        EXPECT_LE(largest_error(chunk, trip.raw), 50) << text << describe(chunk.info, kind);
      }
}

TEST(Zfp, smooth_fields_become_smaller_in_any_number_of_dimensions) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("zfp:accuracy=0.1");
  for (const auto& shape :
       {std::vector<Count>{6000}, {60, 100}, {10, 20, 30}, {2, 5, 20, 30}, {1, 2, 5, 1, 20, 30}}) {
    const Chunk chunk = make_chunk(Type::float64, shape, Values::smooth);
    EXPECT_LT(round_trip(pipeline, chunk, workspace).stored.size(), chunk.raw.size() * 2 / 3);
  }
}

// The bound holds where decoding is skipped because it is proven, and elsewhere it is checked.
TEST(Zfp, values_of_any_size_beside_the_bound_keep_it) {
  CodecWorkspace workspace;
  std::mt19937_64 random(5);
  std::size_t applied = 0;
  for (const double bound : {1.0, 0.3})
    for (const auto& shape :
         {std::vector<Count>{4096}, {64, 64}, {16, 16, 16}, {8, 8, 8, 8}, {5, 7, 9, 13}})
      for (const Type type : {Type::float32, Type::float64})
        for (int k = type == Type::float32 ? 2 : 34; k < (type == Type::float32 ? 36 : 68); ++k)
          for (int mixture = 0; mixture < 3; ++mixture) {
            const Pipeline pipeline =
                Pipeline::parse("zfp:accuracy=" + std::string(bound == 1 ? "1" : "0.3"));
            Chunk chunk = make_chunk(type, shape, Values::zeros);
            const auto n = static_cast<std::size_t>(chunk.info.elements());
            for (std::size_t i = 0; i < n; ++i) {
              double value = std::ldexp(bound, k) * (mixture == 0 ? 0.999 : 1.0 / (1 + i % 7));
              if (mixture == 2 && random() % 4 != 0) value = bound * static_cast<double>(i % 9);
              if ((random() & 1) != 0) value = -value;
              if (type == Type::float32)
                store_be(chunk.raw.data() + 4 * i, static_cast<float>(value));
              else
                store_be(chunk.raw.data() + 8 * i, value);
            }
            const Trip trip = round_trip(pipeline, chunk, workspace);
            if (trip.skipped == 0) ++applied;
            ASSERT_LE(largest_error(chunk, trip.raw), bound)
                << describe(chunk.info, Values::noise) << ", 2^" << k << ", " << mixture;
          }
  EXPECT_GT(applied, 500U);
}

// zfp's scale of such small values is infinite, so it keeps no bound near them.
TEST(Zfp, bounds_near_the_smallest_numbers_are_kept) {
  CodecWorkspace workspace;
  for (const Type type : {Type::float32, Type::float64})
    for (const auto& shape : {std::vector<Count>{4096}, {64, 64}, {16, 16, 16}, {8, 8, 8, 8}})
      for (const int above : {2, 6, 12})
        for (int below = -20; below <= 60; below += 2) {
          const int least = type == Type::float32 ? -126 : -1022;
          const double bound = std::ldexp(1.3, least + below);
          const Pipeline pipeline = Pipeline::parse(fmt::format("zfp:accuracy={}", bound));
          Chunk chunk = make_chunk(type, shape, Values::zeros);
          const auto n = static_cast<std::size_t>(chunk.info.elements());
          for (std::size_t i = 0; i < n; ++i) {
            const double value =
                std::ldexp(bound, above) * std::sin(static_cast<double>(i) / 9) * (i % 512 > 200);
            if (type == Type::float32)
              store_be(chunk.raw.data() + 4 * i, static_cast<float>(value));
            else
              store_be(chunk.raw.data() + 8 * i, value);
          }
          const Trip trip = round_trip(pipeline, chunk, workspace);
          if (trip.skipped == 0)
            ASSERT_LE(largest_error(chunk, trip.raw), bound)
                << describe(chunk.info, Values::smooth) << ", " << below << ", " << above;
        }
}

// Omitting bits makes a value exceed the largest fixed-point number: blocks of 4^d with a value
// from which 2/3 of the omissible part of each coefficient is subtracted.
TEST(Zfp, values_just_below_half_the_bound_keep_it) {
  const std::vector<std::vector<double>> blocks{
      {0.00982905, -0.4999999, -0.355003, -0.4999999},
      {-0.13997, 0.11133, 0.02826, 0.01497, -0.01367, -0.44727, 0.11602, -0.11133, -0.19049,
       -0.16523, -0.10685, 0.06549, -0.01628, -0.08008, -0.30951, -0.10872},
      {0.14937,  0.12,     -0.05489, 0.08695,  0.01257,  0.08459,  -0.04553, -0.17859,
       -0.09591, 0.00916,  -0.03363, -0.08183, -0.02633, 0.0929,   0.12325,  -0.085,
       -0.17688, 0.04749,  -0.14905, 0.12024,  -0.02478, -0.49622, 0.09778,  -0.14514,
       0.04041,  -0.05066, 0.11785,  -0.02673, 0.0929,   -0.14319, -0.0365,  -0.03625,
       -0.09981, -0.19006, -0.00629, 0.09395,  0.08533,  -0.00964, 0.01433,  0.14709,
       -0.10199, -0.07161, -0.08016, 0.15082,  -0.08183, 0.11389,  -0.01129, -0.03731,
       -0.17281, 0.12219,  -0.1248,  -0.12602, 0.12024,  0.00134,  -0.10291, -0.14172,
       -0.08378, 0.13928,  -0.1773,  0.07402,  -0.05961, -0.03821, -0.11544, 0.10844}};
  CodecWorkspace workspace;
  for (const Type type : {Type::float32, Type::float64})
    for (std::size_t d = 0; d < blocks.size(); ++d) {
      Chunk chunk = make_chunk(type, std::vector<Count>(d + 1, d == 0 ? 1024 : 20), Values::zeros);
      const auto n = static_cast<std::size_t>(chunk.info.elements());
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t at = 0;
        for (std::size_t axis = 0, rest = i; axis <= d; ++axis, rest /= 20)
          at |= rest % 4 << 2 * axis;
        const double value = blocks[d][at];
        if (type == Type::float32)
          store_be(chunk.raw.data() + 4 * i, static_cast<float>(value));
        else
          store_be(chunk.raw.data() + 8 * i, value);
      }
      for (const char* text : {"zfp:accuracy=1", "zfp:accuracy=1.4", "zfp:accuracy=1.6"}) {
        const Trip trip = round_trip(Pipeline::parse(text), chunk, workspace);
        EXPECT_LE(largest_error(chunk, trip.raw), std::stod(text + 13))
            << describe(chunk.info, Values::noise) << ", " << text;
      }
    }
}

TEST(Zfp, a_bound_that_is_no_number_is_damage) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("zfp:relative=0.01");
  const Chunk chunk = make_chunk(Type::float64, {16, 16, 16}, Values::zeros);
  const EncodedChunk encoded = pipeline.encode(chunk.info, chunk.raw, workspace);
  ASSERT_EQ(encoded.skipped, 0U);
  std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
  std::vector<std::byte> raw(chunk.raw.size());
  pipeline.decode(chunk.info, stored, 0, raw, workspace);
  stored[stored.size() - 2] = std::byte{0xff};
  stored[stored.size() - 1] = std::byte{0x7f};
  EXPECT_THROW(pipeline.decode(chunk.info, stored, 0, raw, workspace), Error);
}

TEST(Zfp, rate_is_the_size) {
  CodecWorkspace workspace;
  const Chunk chunk = make_chunk(Type::float32, {64, 64}, Values::noise);
  const Trip trip = round_trip(Pipeline::parse("zfp:rate=8"), chunk, workspace);
  EXPECT_EQ(trip.skipped, 0U);
  EXPECT_EQ(trip.stored.size(), 64U * 64U);
}

TEST(Float32, is_the_nearest_float_or_the_exact_chunk) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("float32");
  for (const Values kind : all_values) {
    const Chunk chunk = make_chunk(Type::float64, {30, 41}, kind);
    const Trip trip = round_trip(pipeline, chunk, workspace);
    const bool finite =
        kind != Values::nan && kind != Values::some_nan && kind != Values::infinities;
    const bool fits = kind != Values::largest && kind != Values::bits;
    ASSERT_EQ(trip.skipped & ~stood_in, !fits    ? 1U
                                        : finite ? 0U
                                                 : keeps_apart)
        << name_of_values(kind);
    if ((trip.skipped & 1U) != 0) {
      ASSERT_EQ(trip.raw, chunk.raw);
      continue;
    }
    if (finite) ASSERT_EQ(trip.stored.size() * 2, chunk.raw.size());
    for (std::size_t at = 0; at < chunk.raw.size(); at += 8) {
      if (std::memcmp(chunk.raw.data() + at, trip.raw.data() + at, 8) == 0) continue;
      const double x = load_be<double>(chunk.raw.data() + at);
      const double y = load_be<double>(trip.raw.data() + at);
      ASSERT_EQ(std::signbit(x), std::signbit(y));
      ASSERT_TRUE(std::fabs(x - y) <= std::fabs(x) * 0x1p-24 ||
                  (std::fabs(x) < FLT_MIN && std::fabs(x - y) <= 0x1p-150))
          << x << " " << y;
    }
  }
}

TEST(Float32, a_value_out_of_range_is_exact_and_so_are_all_where_there_are_others_like_it) {
  CodecWorkspace workspace;
  Chunk chunk = make_chunk(Type::float64, {1000}, Values::smooth);
  store_be(chunk.raw.data() + 8 * 613, 1e39);
  const Trip one = round_trip(Pipeline::parse("float32,zstd"), chunk, workspace);
  EXPECT_EQ(one.skipped, keeps_apart);
  EXPECT_EQ(std::memcmp(one.raw.data() + 8 * 613, chunk.raw.data() + 8 * 613, 8), 0);
  store_be(chunk.raw.data() + 8 * 614, 2e39);
  const Trip two = round_trip(Pipeline::parse("float32,zstd"), chunk, workspace);
  EXPECT_EQ(two.skipped, 1U);
  EXPECT_EQ(two.raw, chunk.raw);
}

}  // namespace lossy_test
}  // namespace forebay
