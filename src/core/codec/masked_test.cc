// Every codec that looks at values restores missing values bit for bit and all others within the
// bound, and no other value becomes a missing one.
#include "codec/masked.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "codec/chunks_testing.h"
#include "codec/codec_stage.h"
#include "codec/missing_values.h"
#include "codec/values.h"

namespace forebay {

extern const CodecEntry sz3_codec;

namespace masked_test {

using namespace codec_test;

enum class Mark {
  missing_value,  // two values
  valid_range,    // with many values outside
  default_fill,   // not named by an attribute, as in a checkpoint
  land,           // 1e20, not named by an attribute
  nan,            // with payloads
  infinity,
  everything,  // is missing
  near,        // valid values near a missing value
};
constexpr std::array all_marks{Mark::missing_value, Mark::valid_range, Mark::default_fill,
                               Mark::land,          Mark::nan,         Mark::infinity,
                               Mark::everything,    Mark::near};

template <typename T>
struct Masks {
  std::vector<T> values;
  std::vector<bool> missing;
  std::shared_ptr<MissingRule> rule = std::make_shared<MissingRule>();

  Masks(Mark mark, std::size_t n, unsigned seed, int pattern) : values(n), missing(n) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      const double at = static_cast<double>(i);
      values[i] = static_cast<T>(12 + 9 * std::sin(at / 97) + 4 * std::cos(at / 31));
      const bool here = pattern == 0 ? i < n / 3 : random() % 5 == 0;
      missing[i] = mark == Mark::everything || (mark != Mark::near && here);
      if (mark == Mark::near) {
        rule->values = {12};
        missing[i] = here && random() % 7 == 0;
        if (missing[i])
          values[i] = 12;
        else if (here)
          values[i] = static_cast<T>(12 + std::ldexp(1, -static_cast<int>(random() % 20)));
      } else if (missing[i]) {
        values[i] = value_of(mark, random);
      }
    }
    if (mark == Mark::missing_value || mark == Mark::everything) rule->values = {-1e10, 1e20F};
    if (mark == Mark::valid_range) rule->least = -2, rule->most = 30;
  }
  static T value_of(Mark mark, std::mt19937_64& random) {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    switch (mark) {
      case Mark::valid_range:
        return static_cast<T>(random() % 2 == 0 ? 31 + random() % 1000 : -3 - double(random() % 9));
      case Mark::default_fill:
        return T(9.9692099683868690e+36F);
      case Mark::land:
        return T(1e20F);
      case Mark::nan:
        return std::bit_cast<T>(static_cast<Word>(
            std::bit_cast<Word>(std::numeric_limits<T>::quiet_NaN()) | (random() & 0xff)));
      case Mark::infinity:
        return random() % 2 == 0 ? std::numeric_limits<T>::infinity()
                                 : -std::numeric_limits<T>::infinity();
      default:
        return random() % 2 == 0 ? T(-1e10) : T(1e20F);
    }
  }
  std::vector<std::byte> external() const {
    std::vector<std::byte> raw(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) store_be(raw.data() + i * sizeof(T), values[i]);
    return raw;
  }
};

struct Codec {
  const char* pipeline;
  double bound;     // absolute, for values at most 26.0 apart; 0: exact; -1: none
  double relative;  // of each value
};

std::vector<Codec> codecs() {
  std::vector<Codec> all{
      {"zfp:accuracy=1e-3", 1e-3, 0},         {"zfp:accuracy=0.5,zstd:1", 0.5, 0},
      {"zfp:relative=1e-3", 26e-3, 0},        {"zfp:precision=16", -1, 0},
      {"zfp:rate=12,deflate:1", -1, 0},       {"zfp:reversible", 0, 0},
      {"float32,shuffle,zstd:1", 0, 0x1p-24}, {"float32,zfp:accuracy=1e-3", 1e-3, 0x1p-24}};
  if (sz3_codec.make != nullptr)
    all.insert(all.end(), {{"sz3:abs=1e-3", 1e-3, 0}, {"sz3:rel=1e-3,zstd:1", 26e-3, 0}});
  return all;
}

template <typename T>
void check(const Codec& codec, Mark mark, const std::vector<Count>& shape, int pattern,
           CodecWorkspace& workspace) {
  const Type type = sizeof(T) == 4 ? Type::float32 : Type::float64;
  const Pipeline pipeline = Pipeline::parse(codec.pipeline).for_type(type);
  if (pipeline.empty()) return;
  ChunkInfo info{type, shape};
  const auto n = static_cast<std::size_t>(info.elements());
  const Masks<T> masks(mark, n, 7, pattern);
  info.missing = masks.rule;
  const MissingTest<T> is_missing(masks.rule.get());
  const auto what = fmt::format("{} mark {} pattern {} type {} of {}", codec.pipeline,
                                static_cast<int>(mark), pattern, name_of(type), n);
  std::vector<std::byte> first;
  for (const bool native : {false, true}) {
    info.native = native;
    std::vector<std::byte> raw = masks.external();
    if (native) std::memcpy(raw.data(), masks.values.data(), raw.size());
    const EncodedChunk encoded = pipeline.encode(info, raw, workspace);
    const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
    ASSERT_LE(stored.size(), raw.size()) << what;
    if (native)
      ASSERT_EQ(stored, first) << what;
    else
      first = stored;
    // A reader does not know the attributes.
    ChunkInfo reads{type, shape};
    reads.native = native;
    std::vector<std::byte> back(raw.size());
    pipeline.decode(reads, stored, encoded.skipped, back, workspace);
    for (std::size_t i = 0; i < n; ++i) {
      const auto load = [&](const std::vector<std::byte>& bytes) {
        return native ? load_native<T>(bytes.data() + i * sizeof(T))
                      : load_be<T>(bytes.data() + i * sizeof(T));
      };
      const T wrote = load(raw), got = load(back);
      if (masks.missing[i]) {
        ASSERT_EQ(std::memcmp(&wrote, &got, sizeof(T)), 0) << what << " at " << i;
        continue;
      }
      const double bound = codec.bound + codec.relative * std::fabs(static_cast<double>(wrote));
      if (codec.bound >= 0)
        ASSERT_LE(std::fabs(static_cast<double>(got) - static_cast<double>(wrote)), bound)
            << what << " at " << i;
      ASSERT_FALSE(is_missing(got)) << what << " at " << i << ": " << wrote << " " << got;
    }
  }
}

TEST(Masked, missing_values_are_exact_and_others_within_the_bound_with_every_codec) {
  CodecWorkspace workspace;
  for (const Codec& codec : codecs())
    for (const Mark mark : all_marks)
      for (const int pattern : {0, 1})
        for (const auto& shape : {std::vector<Count>{4096}, {40, 52}, {3, 5, 7, 9, 4}}) {
          check<float>(codec, mark, shape, pattern, workspace);
          check<double>(codec, mark, shape, pattern, workspace);
          if (testing::Test::HasFatalFailure()) return;
        }
}

TEST(Masked, land_costs_a_field_little_of_its_compression) {
  CodecWorkspace workspace;
  for (const char* text : {"zfp:accuracy=1e-3", "zfp:relative=1e-4", "zfp:precision=16",
                           "float32,shuffle,zstd:3", "sz3:abs=1e-3"}) {
    if (std::string_view(text).starts_with("sz3") && sz3_codec.make == nullptr) continue;
    const Pipeline pipeline = Pipeline::parse(text);
    ChunkInfo info{Type::float64, {128, 128}};
    std::vector<double> values(128 * 128);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 15 + 10 * std::sin(double(i / 128) / 30) * std::cos(double(i % 128) / 40);
    const auto size = [&](double mark) {
      std::vector<double> its = values;
      for (std::size_t i = 0; i < its.size(); ++i)
        if (i / 128 < 40 + 20 * std::sin(double(i % 128) / 9)) its[i] = mark;
      if (mark == 0) its = values;
      info.native = true;
      return pipeline.encode(info, std::as_bytes(std::span(its)), workspace).bytes.size();
    };
    const std::size_t whole = size(0);
    EXPECT_LT(whole, 128 * 128 * 4 + 100) << text;
    for (const double mark : {1e20, 9.9692099683868690e+36, std::nan(""), -1e10})
      EXPECT_LT(size(mark), whole + whole / 10 + 400 + (text[0] == 's' ? 4000 : 0))
          << text << ", " << mark;
  }
}

TEST(Masked, a_lossless_codec_takes_over_where_no_bound_can_be_held) {
  CodecWorkspace workspace;
  std::vector<float> values(4096);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        i % 2 == 0 ? 1e20F * static_cast<float>(1 + i % 7) : 0.1F * static_cast<float>(i % 13);
  ChunkInfo info{Type::float32, {4096}};
  info.native = true;
  const auto raw = std::as_bytes(std::span(values));
  const Pipeline pipeline = Pipeline::parse("zfp:accuracy=1e-3");
  const EncodedChunk encoded = pipeline.encode(info, raw, workspace);
  EXPECT_EQ(encoded.skipped, 1U | stood_in);
  EXPECT_LT(encoded.bytes.size(), raw.size() / 2);
  const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
  std::vector<std::byte> back(raw.size());
  pipeline.decode(info, stored, encoded.skipped, back, workspace);
  EXPECT_EQ(std::memcmp(back.data(), raw.data(), raw.size()), 0);
  for (const std::uint32_t other : {stored.empty() ? 0U : stood_in, stood_in | keeps_apart | 1U})
    EXPECT_THROW(pipeline.decode(info, stored, other, back, workspace), Error);
}

TEST(Masked, tells_where_a_bound_is_larger_than_what_most_values_are_apart) {
  CodecWorkspace workspace;
  using Bound = EncodedChunk::Bound;
  ChunkInfo info{Type::float32, {4096}};
  info.native = true;
  std::vector<float> values(4096);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 5 < 3 ? -999 : static_cast<float>(i) / 4096;
  const auto told = [&](const char* text) {
    return Pipeline::parse(text).encode(info, std::as_bytes(std::span(values)), workspace).bound;
  };
  EXPECT_EQ(told("zfp:relative=1e-2"), Bound::coarser);
  EXPECT_EQ(told("zfp:accuracy=2"), Bound::coarser);
  EXPECT_EQ(told("zfp:relative=1e-5"), Bound::finer);
  // Rows whose first half is land.
  info.shape = {32, 128};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 128 < 64 ? -999 : static_cast<float>(i) / 4096;
  EXPECT_EQ(told("zfp:relative=1e-2"), Bound::coarser);
  info.missing = std::make_shared<MissingRule>(MissingRule{{-999}});
  EXPECT_EQ(told("zfp:relative=1e-2"), Bound::finer);
}

TEST(Masked, no_value_becomes_missing_in_stages_that_promise_nothing) {
  CodecWorkspace workspace;
  std::vector<float> values(16384);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = static_cast<double>(i);
    values[i] = static_cast<float>(
        std::max(1e-3, 5 * std::sin(at * .001) + std::fabs(std::sin(at * .3)) * .1));
  }
  const auto raw = std::as_bytes(std::span(values));
  MissingRule with_edge{{0}};
  with_edge.least = 0;  // values below are clamped to it
  for (const MissingRule& rule : {MissingRule{{0}}, with_edge, MissingRule{{-5, 0, 0.5}}})
    for (const char* text : {"zfp:rate=8", "zfp:rate=8,zstd:1", "zfp:precision=12",
                             "float32,zfp:precision=12,deflate:1"}) {
      const Pipeline pipeline = Pipeline::parse(text);
      ChunkInfo info{Type::float32, {128, 128}};
      info.native = true;
      info.missing = std::make_shared<MissingRule>(rule);
      const EncodedChunk encoded = pipeline.encode(info, raw, workspace);
      EXPECT_LT(encoded.bytes.size(), raw.size() / 2) << text;
      const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
      std::vector<float> back(values.size());
      info.missing = nullptr;
      pipeline.decode(info, stored, encoded.skipped, std::as_writable_bytes(std::span(back)),
                      workspace);
      const MissingTest<float> is_missing(&rule);
      EXPECT_EQ(std::ranges::count_if(back, is_missing), 0) << text;
    }
}

TEST(Masked, foreign_bytes_are_errors_and_never_read_or_written_outside) {
  CodecWorkspace workspace;
  std::mt19937_64 random(11);
  for (const char* text : {"zfp:accuracy=1e-2", "float32,zstd:1"}) {
    const Pipeline pipeline = Pipeline::parse(text);
    ChunkInfo info{Type::float64, {40, 50}};
    const Masks<double> masks(Mark::valid_range, 2000, 3, 1);
    info.missing = masks.rule;
    const EncodedChunk encoded = pipeline.encode(info, masks.external(), workspace);
    ASSERT_NE(encoded.skipped & keeps_apart, 0U);
    const std::uint32_t skipped = encoded.skipped;
    const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::byte> its = stored;
      if (round % 3 == 0) its.resize(random() % (its.size() + 1));
      const std::size_t front = std::min<std::size_t>(its.size(), 64);
      for (int k = 0; k < 2 && front > 0; ++k)
        its[random() % (round % 2 == 0 ? front : its.size())] = static_cast<std::byte>(random());
      std::vector<std::byte> back(16000);
      try {
        pipeline.decode(info, its, skipped, back, workspace);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::enotnc);
      }
    }
  }
}

TEST(Extremes, tell_marks_of_land_from_values) {
  const auto ordinary = [](std::vector<double> values) {
    Extremes extremes;
    extremes.add<double>(
        values.size(), [&](std::size_t i) { return values[i]; }, MissingTest<double>());
    return Extremes::of_numbers(extremes.numbers()).ordinary();
  };
  EXPECT_EQ(ordinary({1, 2, 1e20, 1e20, -1e34, 3}).range(), 2);
  EXPECT_EQ(ordinary({-2, 30, -1e10}).outliers, (std::vector<double>{-1e10}));
  EXPECT_EQ(ordinary({101325, 98000, -1e10}).range(), 3325);
  // There are no other values to be far away from.
  EXPECT_EQ(ordinary({1e20, 1e20}).range(), 0);
  EXPECT_EQ(ordinary({1e20, 1e20}).least, 1e20);
  EXPECT_EQ(ordinary({1e20, 1e20}).outliers, std::vector<double>());
  // There are others of that size or too near, so they are values.
  EXPECT_EQ(ordinary({0, 1e20, 1.5e20}).range(), 1.5e20);
  EXPECT_EQ(ordinary({0, 20, 1e5}).range(), 1e5);
  EXPECT_EQ(ordinary({1, 1e20, 1e20, 2e20, 1e300}).outliers, (std::vector<double>{1e300}));
  EXPECT_EQ(ordinary({}).range(), 0);
}

}  // namespace masked_test
}  // namespace forebay
