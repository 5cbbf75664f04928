#include "patches/hierarchy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "array/chunk_grid.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "codec/missing_values.h"
#include "codec/pipeline.h"
#include "codec/wavelet.h"

namespace forebay {
namespace hierarchy_test {

using wavelet::Box;

template <typename T>
std::vector<std::byte> external(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) store_be(bytes.data() + i * sizeof(T), values[i]);
  return bytes;
}

template <typename T>
std::vector<T> native(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_be<T>(bytes.data() + i * sizeof(T));
  return values;
}

template <typename T>
constexpr Type type_of = sizeof(T) == 4 ? Type::float32 : Type::float64;

/// A patch encoded by a pipeline, part by part.
template <typename T>
struct Coded {
  Pipeline pipeline;
  ChunkInfo info;
  std::vector<std::byte> raw, fill;
  std::vector<std::vector<std::byte>> parts;
  CodecWorkspace workspace;
  std::optional<double> told;  ///< returned by the last decode()

  Coded(const std::string& text, std::vector<Count> shape, const std::vector<T>& values,
        std::optional<T> fill_value = std::nullopt, std::optional<double> range = std::nullopt,
        std::optional<double> bound = std::nullopt, std::optional<double> cut = std::nullopt)
      : pipeline(Pipeline::parse(text)), raw(external(values)) {
    if (fill_value) fill = external(std::vector<T>{*fill_value});
    info = {type_of<T>, std::move(shape), fill, range, bound, cut};
    std::vector<EncodedChunk> encoded(static_cast<std::size_t>(pipeline.parts()));
    pipeline.encode(info, raw, encoded, workspace);
    for (const EncodedChunk& part : encoded)
      parts.emplace_back(part.bytes.begin(), part.bytes.end());
    expect_same_of_native();
  }
  /// Encodes elements in the machine's order, not aligned. They must give the same parts and must
  /// not change.
  void expect_same_of_native() {
    ChunkInfo its = info;
    its.native = true;
    for (const std::size_t off : {0, 3}) {
      std::vector<std::byte> memory(raw.size() + off);
      copy_swapped(memory.data() + off, raw.data(), raw.size(), sizeof(T));
      const auto before = memory;
      std::vector<EncodedChunk> encoded(parts.size());
      pipeline.encode(its, std::span(memory).subspan(off), encoded, workspace);
      for (std::size_t p = 0; p < parts.size(); ++p)
        EXPECT_TRUE(std::ranges::equal(encoded[p].bytes, parts[p])) << "part " << p;
      EXPECT_EQ(memory, before);
    }
  }
  Coded(const Coded&) = delete;
  Coded& operator=(const Coded&) = delete;

  int levels() const { return pipeline.parts() - 1; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& part : parts) sum += part.size();
    return sum;
  }
  std::vector<T> level(int k) {
    std::vector<EncodedChunk> some;
    for (int p = 0; p <= levels() - k; ++p) some.push_back({parts[static_cast<std::size_t>(p)], 0});
    ChunkInfo coarse = info;
    coarse.shape = level_shape(info.shape, k);
    std::vector<std::byte> out(static_cast<std::size_t>(coarse.bytes()));
    told = pipeline.decode(info, some, out, workspace);
    return native<T>(out);
  }
};

/// Levels by the formula of the transform, axis after axis, in long double.
std::vector<long double> halved(const std::vector<long double>& x, std::size_t n, std::size_t row) {
  const std::size_t low = (n + 1) / 2, high = n / 2, outer = x.size() / (n * row);
  std::vector<long double> out(outer * low * row);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t k = 0; k < row; ++k) {
      const auto at = [&](std::size_t i) { return x[(o * n + i) * row + k]; };
      const auto d = [&](std::size_t i) {
        return at(2 * i + 1) - (at(2 * i) + at(2 * i + 2 < n ? 2 * i + 2 : 2 * i)) / 2;
      };
      for (std::size_t i = 0; i < low; ++i) {
        const long double left = high == 0 ? 0 : d(i > 0 ? i - 1 : 0);
        const long double right = high == 0 ? 0 : d(i < high ? i : high - 1);
        out[(o * low + i) * row + k] = at(2 * i) + (left + right) / 4;
      }
    }
  }
  return out;
}

template <typename T>
std::vector<std::vector<long double>> true_levels(const std::vector<T>& values,
                                                  std::vector<Count> shape, int levels) {
  std::vector<std::vector<long double>> all{{values.begin(), values.end()}};
  for (int k = 0; k < levels; ++k) {
    auto x = all.back();
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      std::size_t row = 1;
      for (std::size_t a = axis + 1; a < shape.size(); ++a)
        row *= static_cast<std::size_t>(shape[a]);
      if (shape[axis] > 1) x = halved(x, static_cast<std::size_t>(shape[axis]), row);
      shape[axis] = (shape[axis] + 1) / 2;
    }
    all.push_back(std::move(x));
  }
  return all;
}

template <typename T>
double largest_error(const std::vector<T>& got, const std::vector<long double>& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::fabs(got[i] - wanted[i])));
  return worst;
}

template <typename T>
std::vector<T> smooth_field(const std::vector<Count>& shape, std::mt19937& random, double noise) {
  std::size_t n = 1;
  for (const Count s : shape) n *= static_cast<std::size_t>(s);
  std::vector<T> values(n);
  std::normal_distribution<double> some;
  const double a = 0.05 + 0.2 * std::fabs(some(random)), b = 0.05 + 0.1 * std::fabs(some(random));
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(i % static_cast<std::size_t>(shape.back()));
    const std::size_t row = i / static_cast<std::size_t>(shape.back());
    const auto y = static_cast<double>(row);
    values[i] = static_cast<T>(20 + 5 * std::sin(a * x) * std::cos(b * y) + noise * some(random));
  }
  return values;
}

std::vector<Count> random_shape(std::mt19937& random, Count most) {
  std::vector<Count> shape(1 + random() % 3);
  for (Count& n : shape) n = 1 + static_cast<Count>(random() % static_cast<unsigned>(most));
  if (random() % 3 == 0) shape.insert(shape.begin(), 1);
  return shape;
}

template <typename T>
class Hierarchy : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Hierarchy, Types);

template <typename T>
std::vector<T> split(const std::vector<T>& values, const Box& box,
                     wavelet::Way way = wavelet::Way::quickest) {
  std::vector<T> to(values.size()), work(wavelet::work_size(box));
  wavelet::split(values.data(), box, wavelet::kinds_of(to.data(), box), work.data(), way);
  return to;
}
template <typename T>
std::vector<T> merge(const std::vector<T>& values, const Box& box,
                     wavelet::Way way = wavelet::Way::quickest) {
  std::vector<T> to(values.size()), work(wavelet::work_size(box));
  wavelet::merge(wavelet::kinds_of(values.data(), box), box, to.data(),
                 static_cast<const T*>(nullptr), 0, work.data(), way);
  return to;
}

TYPED_TEST(Hierarchy, every_processor_gives_the_same_bits) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 60; ++round) {
    const Box box{1 + random() % 20, 1 + random() % 20, 1 + random() % 70};
    std::vector<TypeParam> values(wavelet::elements(box));
    for (auto& v : values) v = static_cast<TypeParam>(std::exp(9 * normal(random)) - 1);
    const auto same = [&](const auto& a, const auto& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
    };
    EXPECT_TRUE(same(split(values, box), split(values, box, wavelet::Way::portable))) << round;
    EXPECT_TRUE(same(merge(values, box), merge(values, box, wavelet::Way::portable))) << round;
  }
}

TYPED_TEST(Hierarchy, split_and_merge_are_each_others_inverse) {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const Box box{1 + random() % 9, 1 + random() % 9, 1 + random() % 9};
    std::vector<TypeParam> values(wavelet::elements(box));
    // Whole numbers below 2^16 that are halved at most six times stay exact.
    for (auto& v : values) v = static_cast<TypeParam>(random() % 4096);
    const auto both = split(values, box);
    const auto kinds = wavelet::kinds_of(both.data(), box);
    EXPECT_EQ(merge(both, box), values);
    // Merges slice by slice, compares, and does not keep the result.
    const std::size_t at = random() % values.size();
    values[at] += 1;
    std::vector<TypeParam> work(wavelet::work_size(box));
    TypeParam* const nowhere = nullptr;
    EXPECT_EQ(wavelet::merge(kinds, box, nowhere, values.data(), 1, work.data()), 1);
    values.back() += 5;
    const double early = wavelet::merge(kinds, box, nowhere, values.data(), 0, work.data());
    EXPECT_TRUE(early >= 1 && early <= 6) << early;
    values[at] = std::numeric_limits<TypeParam>::quiet_NaN();
    EXPECT_EQ(wavelet::merge(kinds, box, nowhere, values.data(), 10, work.data()),
              std::numeric_limits<double>::infinity());
  }
}

// One detail, or one smooth element, of 1 adds at most 1 to any element. So errors of levels and
// kinds add up to at most their sum.
TYPED_TEST(Hierarchy, kinds_of_details_have_gains_of_one_at_most) {
  for (const std::size_t n : {1U, 2U, 3U, 4U, 5U, 8U, 13U}) {
    for (const std::size_t m : {1U, 2U, 7U, 8U}) {
      const Box box{n, m, n}, low = wavelet::smooth_of(box);
      const std::size_t all = wavelet::elements(box);
      // For each element, the sum of the contributions of all elements of a kind, each with its
      // worst sign.
      for (unsigned kind = 0; kind < 8; ++kind) {
        std::vector<double> gain(all);
        for (std::size_t i = 0; i < all; ++i) {
          const Box at{i / (box[1] * box[2]), i / box[2] % box[1], i % box[2]};
          unsigned its = 0;
          for (std::size_t a = 0; a < 3; ++a) its |= (at[a] >= low[a] ? 1U : 0U) << (2 - a);
          if (its != kind) continue;
          std::vector<TypeParam> one(all);
          one[i] = 1;
          one = merge(one, box);
          for (std::size_t k = 0; k < all; ++k) gain[k] += std::fabs(static_cast<double>(one[k]));
        }
        EXPECT_LE(*std::max_element(gain.begin(), gain.end()), 1) << n << " " << m << " " << kind;
      }
    }
  }
}

TYPED_TEST(Hierarchy, keeps_its_bound_at_every_level) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const auto shape = random_shape(random, 40);
    const int levels = 1 + static_cast<int>(random() % 4);
    const double bound = std::pow(10.0, -1.0 - static_cast<double>(random() % 4));
    const auto values = smooth_field<TypeParam>(shape, random, round % 3 == 0 ? 1 : 0.01);
    Coded<TypeParam> coded(
        "wavelet:" + std::to_string(levels) + ",zfp:accuracy=" + std::to_string(bound), shape,
        values);
    const auto wanted = true_levels(values, shape, levels);
    const LevelFacts facts = hierarchy_facts(coded.parts[0], levels);
    ASSERT_EQ(facts.details.size(), static_cast<std::size_t>(levels));
    double details = 0;
    for (int k = 0; k <= levels; ++k) {
      const double rounding = 64 * std::numeric_limits<TypeParam>::epsilon();
      const auto got = coded.level(k);
      const double error = largest_error(got, wanted[static_cast<std::size_t>(k)]);
      EXPECT_LE(error, bound + rounding) << k;
      EXPECT_LE(error, facts.error + rounding) << k;
      if (k == 0) EXPECT_LE(error, bound);
      if (k == levels) break;
      details += facts.details[static_cast<std::size_t>(k)];
    }
    EXPECT_GT(details, 0);
  }
}

// A thin patch without details is its coarsest level. A search that stopped at the first τ without
// details would give 1,714 bytes.
TEST(HierarchyText, thin_patches_have_the_largest_tolerance_that_keeps_the_bound) {
  const std::vector<Count> shape{8, 64, 64};
  std::size_t bytes = 0;
  for (const double k : {0.002, 0.004, 0.008, 0.016}) {
    std::vector<float> values;
    for (int z = 0; z < 8; ++z)
      for (int y = 0; y < 64; ++y)
        for (int x = 0; x < 64; ++x)
          values.push_back(static_cast<float>(std::sin(k * x + 0.3) +
                                              std::cos(k * y) * std::sin(2 * k * z + 0.1)));
    Coded<float> coded("wavelet:1,zfp:accuracy=0.1", shape, values);
    const std::vector<long double> wanted(values.begin(), values.end());
    EXPECT_LE(largest_error(coded.level(0), wanted), 0.1);
    bytes += coded.bytes();
  }
  EXPECT_LT(bytes, 1500U);
}

// Compares coarser levels without details with the patch, against their stated bound.
TYPED_TEST(Hierarchy, tells_how_much_coarser_levels_leave_out) {
  std::mt19937 random(3);
  const std::vector<Count> shape{24, 17, 30};
  const auto values = smooth_field<TypeParam>(shape, random, 0.3);
  Coded<TypeParam> coded("wavelet:2,zfp:accuracy=0.001", shape, values);
  const LevelFacts facts = hierarchy_facts(coded.parts[0], 2);
  double stated = facts.error;
  for (int k = 1; k <= 2; ++k) {
    stated += facts.details[static_cast<std::size_t>(k - 1)];
    auto level = coded.level(k);
    for (int finer = k - 1; finer >= 0; --finer) {
      const auto large = level_shape(shape, finer);
      const Box box{static_cast<std::size_t>(large[0]), static_cast<std::size_t>(large[1]),
                    static_cast<std::size_t>(large[2])};
      const Box low = wavelet::smooth_of(box);
      std::vector<TypeParam> moving(wavelet::elements(box));
      for (std::size_t i = 0; i < level.size(); ++i)
        moving[(i / (low[1] * low[2]) * box[1] + i / low[2] % low[1]) * box[2] + i % low[2]] =
            level[i];
      level = merge(moving, box);
    }
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      worst = std::max(worst,
                       std::fabs(static_cast<double>(level[i]) - static_cast<double>(values[i])));
    EXPECT_LE(worst, stated) << k;
    EXPECT_GT(worst, stated / 20) << k;
  }
}

TYPED_TEST(Hierarchy, is_exact_bit_for_bit_without_loss) {
  std::mt19937_64 bits(4);
  std::mt19937 random(4);
  for (const char* rest : {"", ",shuffle,zstd:3", ",zfp:reversible", ",deflate:1"}) {
    for (int round = 0; round < 12; ++round) {
      const auto shape = random_shape(random, 24);
      const int levels = 1 + static_cast<int>(random() % 3);
      auto values = smooth_field<TypeParam>(shape, random, 0.1);
      if (round % 3 == 1) {  // any bits: payloads, negative zeros, infinities, the smallest numbers
        for (auto& v : values) {
          const std::uint64_t some = bits();
          std::memcpy(&v, &some, sizeof v);
        }
      }
      if (round % 3 == 2 && values.size() > 3) {
        values[0] = -TypeParam(0);
        values[1] = std::numeric_limits<TypeParam>::infinity();
        values[2] = std::numeric_limits<TypeParam>::denorm_min();
        values[3] = std::numeric_limits<TypeParam>::max();
      }
      Coded<TypeParam> coded("wavelet:" + std::to_string(levels) + rest, shape, values);
      EXPECT_EQ(external(coded.level(0)), coded.raw) << rest << " " << round;
      EXPECT_LE(coded.bytes(), static_cast<std::size_t>(coded.pipeline.most_bytes(coded.info)));
      for (int k = 1; k <= levels; ++k) coded.level(k);
    }
  }
}

TYPED_TEST(Hierarchy, a_bound_that_rounding_cannot_keep_makes_the_patch_exact) {
  std::mt19937 random(5);
  const std::vector<Count> shape{20, 20, 20};
  auto values = smooth_field<TypeParam>(shape, random, 1);
  for (auto& v : values) v *= TypeParam(1e6);
  const double bound = sizeof(TypeParam) == 4 ? 1e-3 : 1e-12;
  Coded<TypeParam> coded(
      "wavelet:2,zfp:accuracy=" + std::string(sizeof(TypeParam) == 4 ? "1e-3" : "1e-12"), shape,
      values);
  EXPECT_FALSE(hierarchy_facts(coded.parts[0], 2).lossy);
  EXPECT_EQ(external(coded.level(0)), coded.raw) << bound;
}

// If level 0 needs the differences, coarser levels are still within the bound, up to rounding, and
// not only within a fraction of the patch's range.
TYPED_TEST(Hierarchy, values_that_were_cut_before_have_what_the_bound_leaves) {
  std::mt19937 random(12);
  const std::vector<Count> shape{16, 20, 16};
  const auto values = smooth_field<TypeParam>(shape, random, 0.1);
  const char* text = "wavelet:2,zfp:accuracy=0.01";
  constexpr double bound = 0.01;
  Coded<TypeParam> once(text, shape, values), exact("wavelet:2,shuffle,zstd:3", shape, values);
  LevelFacts before = hierarchy_facts(once.parts[0], 2);
  EXPECT_TRUE(before.lossy);
  EXPECT_EQ(before.finest_error, before.error);
  std::vector<TypeParam> now = once.level(0);
  for (int again = 0; again < 20; ++again) {
    Coded<TypeParam> coded(text, shape, now, std::nullopt, std::nullopt, std::nullopt,
                           before.finest_error);
    const LevelFacts facts = hierarchy_facts(coded.parts[0], 2);
    now = coded.level(0);
    double error = 0;
    for (std::size_t i = 0; i < now.size(); ++i)
      error =
          std::max(error, std::abs(static_cast<double>(now[i]) - static_cast<double>(values[i])));
    EXPECT_LE(error, facts.finest_error) << again;
    EXPECT_LE(facts.finest_error, bound) << again;
    EXPECT_TRUE(facts.lossy);
    EXPECT_GE(facts.finest_error, before.finest_error);
    EXPECT_LE(facts.error, 5.1 * facts.finest_error + bound);
    // The first time costs a few more bits per value, not all of them; in the end only rounding is
    // left.
    if (again == 0) EXPECT_LT(coded.bytes(), (once.bytes() + exact.bytes()) / 2);
    if (external(now) == coded.raw) EXPECT_EQ(facts.finest_error, before.finest_error);
    before = facts;
  }
  Coded<TypeParam> none_left(text, shape, now, std::nullopt, std::nullopt, std::nullopt, bound);
  EXPECT_EQ(external(none_left.level(0)), none_left.raw);
}

// After a partial write, fill values may still be written.
TYPED_TEST(Hierarchy, is_exact_while_values_may_yet_come) {
  std::mt19937 random(13);
  const std::vector<Count> shape{16, 16, 16};
  auto values = smooth_field<TypeParam>(shape, random, 0.1);
  const char* text = "wavelet:2,zfp:accuracy=0.01";
  const TypeParam fill = -99;
  for (const bool whole : {true, false}) {
    if (!whole) std::fill(values.begin() + 2000, values.end(), fill);
    Coded<TypeParam> part(text, shape, values, fill, std::nullopt, std::nullopt, 0.0);
    EXPECT_EQ(hierarchy_facts(part.parts[0], 2).lossy, whole);
    EXPECT_EQ(external(part.level(0)) == part.raw, !whole);
    Coded<TypeParam> all(text, shape, values, fill);
    EXPECT_TRUE(hierarchy_facts(all.parts[0], 2).lossy);
  }
}

TYPED_TEST(Hierarchy, coarser_levels_of_exact_patches_keep_the_bound_but_for_rounding) {
  std::mt19937 random(15);
  const std::vector<Count> shape{20, 20, 20};
  auto values = smooth_field<TypeParam>(shape, random, 1);
  for (auto& v : values) v *= TypeParam(1e6);
  const double rounding = 2e7 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
  const double bound = rounding / 2;
  Coded<TypeParam> coded("wavelet:2,zfp:relative=0.5", shape, values, std::nullopt, 2 * bound);
  const LevelFacts facts = hierarchy_facts(coded.parts[0], 2);
  EXPECT_FALSE(facts.lossy);
  EXPECT_LE(facts.error, bound + 8 * rounding);
  const auto wanted = true_levels(values, shape, 2);
  for (int k = 1; k <= 2; ++k)
    EXPECT_LE(largest_error(coded.level(k), wanted[static_cast<std::size_t>(k)]),
              bound + 16 * rounding)
        << k;
}

// zfp multiplies by a power of two, which must be finite.
TYPED_TEST(Hierarchy, the_smallest_values_have_levels_like_any_others) {
  std::mt19937 random(16);
  const std::vector<Count> shape{16, 20, 24};
  const auto ones = smooth_field<TypeParam>(shape, random, 0.01);
  const int least = std::numeric_limits<TypeParam>::min_exponent;
  for (const int exponent : {least + 60, least + 20, least + 2, least - 8}) {
    auto values = ones;
    for (auto& v : values) v = std::ldexp(v, exponent);
    const double unit = std::ldexp(1.0, exponent);
    const double smallest = std::numeric_limits<TypeParam>::denorm_min();
    const double told = std::numeric_limits<float>::denorm_min();  // as a float
    Coded<TypeParam> exact("wavelet:2", shape, values);
    EXPECT_EQ(external(exact.level(0)), exact.raw) << exponent;
    Coded<TypeParam> cut("wavelet:2,zfp:relative=1e-2", shape, values);
    EXPECT_LE(cut.bytes(), cut.raw.size() / 2) << exponent;
    for (Coded<TypeParam>* coded : {&exact, &cut}) {
      const auto wanted = true_levels(values, shape, 2);
      for (int k = 0; k <= 2; ++k)
        EXPECT_LE(largest_error(coded->level(k), wanted[static_cast<std::size_t>(k)]),
                  0.11 * unit + 2 * smallest)
            << exponent << " " << k;
      EXPECT_LE(hierarchy_facts(coded->parts[0], 2).error, 0.11 * unit + 2 * smallest + told);
    }
  }
}

TYPED_TEST(Hierarchy, bounds_that_are_parts_of_a_range_are_stored_and_kept_beside_others) {
  std::mt19937 random(17);
  const std::vector<Count> shape{16, 16, 16};
  const TypeParam fill = TypeParam(1e30);
  auto values = smooth_field<TypeParam>(shape, random, 0.1);
  values[9] = fill;
  const auto worst_of = [&](Coded<TypeParam>& coded) {
    const auto got = coded.level(0);
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst =
          std::max(worst, std::fabs(static_cast<double>(got[i]) - static_cast<double>(values[i])));
    return worst;
  };
  const char* text = "wavelet:2,zfp:relative=0.01";
  Coded<TypeParam> alone(text, shape, values, fill, 1000.0);
  EXPECT_GT(worst_of(alone), 1);
  EXPECT_DOUBLE_EQ(*alone.told, 10);
  Coded<TypeParam> beside(text, shape, values, fill, 1000.0, 0.25);
  EXPECT_LE(worst_of(beside), 0.25);
  EXPECT_DOUBLE_EQ(*beside.told, 0.25);
  // Without a known range of all data, the patch's own range counts, without fill values.
  Coded<TypeParam> own(text, shape, values, fill);
  EXPECT_LE(worst_of(own), 0.2);
  // All data that was written together is equal, so other values are exact.
  Coded<TypeParam> equal(text, shape, values, fill, 0.0);
  EXPECT_EQ(worst_of(equal), 0);
  EXPECT_EQ(equal.told, 0);
  // Fill values need no bound.
  Coded<TypeParam> none(text, shape, std::vector<TypeParam>(values.size(), fill), fill, 1.0);
  none.level(0);
  EXPECT_EQ(none.told, std::numeric_limits<double>::infinity());
  Coded<TypeParam> fixed("wavelet:2,zfp:accuracy=0.01", shape, values, fill);
  fixed.level(0);
  EXPECT_FALSE(fixed.told);
}

// Padding makes the stream of a thin patch larger than the patch.
TYPED_TEST(Hierarchy, says_how_many_bytes_a_patch_of_any_shape_takes_at_most) {
  std::mt19937_64 bits(18);
  for (const std::vector<Count>& shape : {std::vector<Count>{3, 3, 512},
                                          {512, 3, 3},
                                          {5, 1, 300},
                                          {9, 9, 9},
                                          {2, 2, 2},
                                          {1, 7},
                                          {33},
                                          {5, 5, 200}}) {
    for (const char* rest : {"", ",zfp:accuracy=1e-15", ",zfp:accuracy=1e-300"}) {
      std::size_t n = 1;
      for (const Count s : shape) n *= static_cast<std::size_t>(s);
      std::vector<TypeParam> values(n);
      for (auto& v : values) v = static_cast<TypeParam>(static_cast<double>(bits()) / 1.8e19 + 0.5);
      if (n > 20) values[11] = std::numeric_limits<TypeParam>::quiet_NaN();
      Coded<TypeParam> coded("wavelet:3" + std::string(rest), shape, values);
      EXPECT_LE(coded.bytes(), static_cast<std::size_t>(coded.pipeline.most_bytes(coded.info)))
          << rest << " " << n;
    }
  }
}

// A level of one element has no details.
TYPED_TEST(Hierarchy, details_of_nothing_are_refused) {
  Coded<TypeParam> coded("wavelet:3", {1, 2}, {TypeParam(1), TypeParam(2)});
  // A complete stream: that of the only element of the coarsest level, after the head.
  constexpr std::ptrdiff_t head = 8 + 3 * 4;
  ASSERT_GT(std::ssize(coded.parts[0]), head + 1);
  coded.parts[1].assign(coded.parts[0].begin() + head, coded.parts[0].end());
  try {
    coded.level(2);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::enotnc) << error.what();
  }
}

TYPED_TEST(Hierarchy, missing_values_stay_missing_and_do_not_spoil_the_others) {
  std::mt19937 random(6);
  const std::vector<Count> shape{24, 16, 32};
  const TypeParam fill = TypeParam(-999);
  const auto whole = smooth_field<TypeParam>(shape, random, 0.01);
  auto values = whole;
  std::size_t i = 0;
  for (auto& v : values) {
    const std::size_t x = i % 32, y = i / 32 % 16, z = i / 512;
    if (x < 8 && y < 8) v = fill;  // land
    if (z == 3 && x == 20) v = std::numeric_limits<TypeParam>::quiet_NaN();
    if (z == 4 && x == 21) v = -std::numeric_limits<TypeParam>::infinity();
    if (z == 5 && x == 22) v = std::numeric_limits<TypeParam>::infinity();
    ++i;
  }
  Coded<TypeParam> coded("wavelet:2,zfp:accuracy=0.01", shape, values, fill);
  EXPECT_TRUE(hierarchy_facts(coded.parts[0], 2).lossy);
  const auto got = coded.level(0);
  for (i = 0; i < values.size(); ++i) {
    if (values[i] == fill || std::isinf(values[i]))
      ASSERT_EQ(got[i], values[i]) << i;
    else if (std::isnan(values[i]))
      ASSERT_TRUE(std::isnan(got[i])) << i;
    else
      ASSERT_LE(std::fabs(static_cast<double>(got[i]) - static_cast<double>(values[i])), 0.01) << i;
  }
  // An element is missing if all elements under it are; a single missing one leaves no hole.
  const auto coarse = coded.level(2);
  for (i = 0; i < coarse.size(); ++i) {
    const std::size_t x = i % 8, y = i / 8 % 4;
    EXPECT_EQ(coarse[i] == fill, x < 2 && y < 2) << i;
    EXPECT_TRUE(std::isfinite(coarse[i])) << i;
    if (coarse[i] != fill) EXPECT_NEAR(static_cast<double>(coarse[i]), 20, 12) << i;
  }
  // All values are missing, and nothing else is returned.
  std::vector<TypeParam> none(values.size(), fill);
  none[5] = std::numeric_limits<TypeParam>::quiet_NaN();
  Coded<TypeParam> empty("wavelet:2,zfp:accuracy=0.01", shape, none, fill);
  EXPECT_EQ(empty.level(0)[4], fill);
  EXPECT_TRUE(std::isnan(empty.level(0)[5]));
  EXPECT_LT(empty.bytes(), 600U);
}

// Values that any attribute calls missing, and outliers, are exact at all levels; the patch itself
// has the information.
TYPED_TEST(Hierarchy, whatever_is_called_missing_is_exact_and_never_ranged) {
  using T = TypeParam;
  std::mt19937 random(23);
  const std::vector<Count> shape{24, 32, 32};
  const auto whole = smooth_field<T>(shape, random, 0.01);
  struct Case {
    MissingRule rule;
    std::vector<double> marks;
  };
  std::vector<double> many;  // more than a mask can distinguish
  for (int i = 0; i < 600; ++i) many.push_back(-500 - i);
  MissingRule edges;
  edges.least = -100, edges.most = 100;
  for (const Case& its : {Case{{{-1e10, 77}}, {-1e10, 77}}, Case{{}, {1e20}},
                          Case{edges, {-101, 5000}}, Case{edges, many}, Case{{}, {std::nan("1")}}})
    for (const char* text :
         {"wavelet:2,zfp:accuracy=0.01", "wavelet:2,zfp:relative=1e-3", "wavelet:2"}) {
      auto values = whole;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (i % 32 < 12 && i / 32 % 32 < 12)
          values[i] = static_cast<T>(its.marks[i / 5 % its.marks.size()]);
      const Pipeline pipeline = Pipeline::parse(text);
      ChunkInfo info{type_of<T>, shape};
      info.missing = std::make_shared<MissingRule>(its.rule);
      CodecWorkspace workspace;
      const auto raw = external(values);
      std::vector<EncodedChunk> parts(3);
      pipeline.encode(info, raw, parts, workspace);
      std::vector<std::vector<std::byte>> kept;
      std::vector<EncodedChunk> stored;
      for (const auto& part : parts) kept.emplace_back(part.bytes.begin(), part.bytes.end());
      for (const auto& part : kept) stored.push_back({part, 0});
      std::vector<std::byte> back(raw.size());
      pipeline.decode({type_of<T>, shape}, stored, back, workspace);
      const auto got = native<T>(back);
      const MissingTest<T> is_missing(info.missing.get());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % 32 < 12 && i / 32 % 32 < 12)
          ASSERT_EQ(std::memcmp(&got[i], &values[i], sizeof(T)), 0) << text << ", " << i;
        else
          ASSERT_LE(std::fabs(got[i] - values[i]), T(0.1)) << text << ", " << i;
        if (!(i % 32 < 12 && i / 32 % 32 < 12))
          ASSERT_FALSE(is_missing(got[i])) << text << ", " << i;
      }
      if (its.marks.size() > 100 || std::isnan(its.marks[0])) continue;
      ChunkInfo coarse = info;
      coarse.shape = level_shape(shape, 1);
      std::vector<std::byte> out(static_cast<std::size_t>(coarse.bytes()));
      pipeline.decode({type_of<T>, shape}, std::span(stored).first(2), out, workspace);
      const auto level = native<T>(out);
      for (std::size_t i = 0; i < level.size(); ++i) {
        const bool land = i % 16 < 6 && i / 16 % 16 < 6;
        if (land)
          ASSERT_TRUE(std::ranges::any_of(its.marks,
                                          [&](double m) { return level[i] == static_cast<T>(m); }))
              << text << ", " << i;
        else
          ASSERT_LT(std::fabs(level[i]), T(60)) << text << ", " << i;
      }
    }
}

TYPED_TEST(Hierarchy, comes_back_whatever_the_rule_calls_missing) {
  using T = TypeParam;
  std::mt19937 random(31);
  const std::vector<Count> shape{16, 24};
  const auto values = smooth_field<T>(shape, random, 0.01);
  const auto raw = external(values);
  constexpr double no_end = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{-1e39, -100, -3, 0, 0.5, 3, 100, 1e39, no_end, -no_end};
  const auto some = [&] { return numbers[random() % numbers.size()]; };
  std::vector<MissingRule> rules(60);
  for (MissingRule& rule : rules) {
    if (random() % 2 == 0) rule.least = some();
    if (random() % 2 == 0) rule.most = some();
    if (random() % 2 == 0) rule.values = {static_cast<double>(values[random() % values.size()])};
  }
  rules.push_back({{}, 100, -100});     // reversed
  rules.push_back({{}, 1e39, no_end});  // infinite as a float
  for (const MissingRule& rule : rules)
    for (const char* text : {"wavelet:2,zfp:accuracy=1e-3", "wavelet:2"}) {
      const auto what = fmt::format("{} {}..{}", text, rule.least, rule.most);
      const Pipeline pipeline = Pipeline::parse(text);
      ChunkInfo info{type_of<T>, shape};
      info.missing = std::make_shared<MissingRule>(rule);
      CodecWorkspace workspace;
      std::vector<EncodedChunk> parts(3);
      pipeline.encode(info, raw, parts, workspace);
      std::vector<std::vector<std::byte>> kept;
      for (const auto& part : parts) kept.emplace_back(part.bytes.begin(), part.bytes.end());
      const std::vector<EncodedChunk> stored{{kept[0], 0}, {kept[1], 0}, {kept[2], 0}};
      std::vector<std::byte> back(raw.size());
      ASSERT_NO_THROW(pipeline.decode({type_of<T>, shape}, stored, back, workspace)) << what;
      const auto got = native<T>(back);
      const MissingTest<T> is_missing(&rule);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(is_missing(got[i]), is_missing(values[i])) << what << " at " << i;
        ASSERT_LE(std::fabs(got[i] - values[i]), is_missing(values[i]) ? T(0) : T(1e-3)) << what;
      }
    }
}

TYPED_TEST(Hierarchy, values_near_the_largest_number_come_back) {
  std::mt19937 random(7);
  const std::vector<Count> shape{16, 16, 16};
  auto values = smooth_field<TypeParam>(shape, random, 0.01);
  const TypeParam huge = std::numeric_limits<TypeParam>::max() / 30;
  for (auto& v : values) v *= huge;
  Coded<TypeParam> exact("wavelet:2", shape, values);
  EXPECT_EQ(external(exact.level(0)), exact.raw);
  Coded<TypeParam> cut("wavelet:2,zfp:relative=1e-3", shape, values, std::nullopt,
                       static_cast<double>(huge) * 10);
  const auto got = cut.level(0);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::fabs(static_cast<double>(got[i]) - static_cast<double>(values[i])),
              static_cast<double>(huge) * 1e-2);
  EXPECT_TRUE(hierarchy_facts(cut.parts[0], 2).lossy);
}

// Also for errors beyond the range of floats.
TEST(HierarchyFacts, tell_errors_of_any_size) {
  std::mt19937 random(11);
  const std::vector<Count> shape{16, 16, 16};
  for (const double scale : {1e-200, 1e-100, 1.0, 1e37, 1e100, 1e290}) {
    auto values = smooth_field<double>(shape, random, 0.1);
    for (double& v : values) v *= scale;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "wavelet:2,zfp:accuracy=%.17g", 1e-3 * scale);
    Coded<double> coded(text.data(), shape, values);
    const LevelFacts facts = hierarchy_facts(coded.parts[0], 2);
    const auto got = coded.level(0);
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::fabs(got[i] - values[i]) / scale);
    EXPECT_GE(facts.error / scale, worst) << scale;
    EXPECT_LE(facts.error / scale, 1.001e-3) << scale;
    for (const double d : facts.details) {
      EXPECT_GT(d / scale, 1e-4) << scale;
      EXPECT_LT(d / scale, 100) << scale;
    }
    Coded<double> relative("wavelet:2,zfp:relative=1e-3", shape, values, std::nullopt, scale);
    relative.level(0);
    EXPECT_LE(*relative.told / scale, 1e-3 * (1 + 1e-12)) << scale;
    EXPECT_GE(*relative.told / scale, 0.999e-3) << scale;
  }
}

TYPED_TEST(Hierarchy, constants_take_one_value_and_zero_details_nothing) {
  const std::vector<Count> shape{16, 16, 16};
  Coded<TypeParam> constant("wavelet:2", shape, std::vector<TypeParam>(4096, TypeParam(3.5)));
  EXPECT_LE(constant.bytes(), 16 + sizeof(TypeParam));
  EXPECT_TRUE(constant.parts[1].empty() && constant.parts[2].empty());
  for (int k = 0; k <= 2; ++k)
    for (const TypeParam v : constant.level(k)) ASSERT_EQ(v, TypeParam(3.5));
  std::vector<TypeParam> linear(17 * 17 * 17);
  for (std::size_t i = 0; i < linear.size(); ++i) {
    const std::size_t slice = i / (17 * 17);
    linear[i] = static_cast<TypeParam>(slice);
  }
  Coded<TypeParam> ramp("wavelet:2,zfp:accuracy=0.01", {17, 17, 17}, linear);
  EXPECT_TRUE(ramp.parts[2].empty());
}

TYPED_TEST(Hierarchy, values_that_hardly_differ_are_one_within_the_bound_at_all_levels) {
  const std::vector<Count> shape{16, 12, 9};
  std::vector<TypeParam> values(16 * 12 * 9);
  // The signs of the low pass's weights, which give the largest errors.
  const auto sign = [](std::size_t i) { return i % 4 == 1 || i % 4 == 2 ? 1 : -1; };
  for (const double differ : {0.0, 1e-4, 4e-4, 2e-3, 8e-3}) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] =
          static_cast<TypeParam>(3 + differ * sign(i % 9) * sign(i / 9 % 12) * sign(i / 108));
    values[0] = static_cast<TypeParam>(3 + differ);
    values[1] = static_cast<TypeParam>(3 - differ);
    Coded<TypeParam> coded("wavelet:2,zfp:accuracy=0.01", shape, values);
    const bool one = differ <= 4e-4;  // 1.72^3 times as much is less than a quarter of the bound
    EXPECT_EQ(std::to_integer<int>(coded.parts[0][0]) % 16 == 0, one) << differ;  // its kind
    const LevelFacts facts = hierarchy_facts(coded.parts[0], 2);
    EXPECT_EQ(facts.lossy, differ > 0) << differ;
    EXPECT_LE(facts.finest_error, facts.error);
    if (one) EXPECT_LE(facts.error, 0.01 / 4);
    const auto wanted = true_levels(values, shape, 2);
    for (int k = 0; k <= 2; ++k)
      EXPECT_LE(largest_error(coded.level(k), wanted[static_cast<std::size_t>(k)]), facts.error)
          << differ << ", level " << k;
    // If most of the bound is used up, a quarter of the rest counts.
    Coded<TypeParam> again("wavelet:2,zfp:accuracy=0.01", shape, values, std::nullopt, std::nullopt,
                           std::nullopt, 0.008);
    EXPECT_EQ(std::to_integer<int>(again.parts[0][0]) % 16 == 0, differ < 1e-4) << differ;
    // The common value must not be a missing value.
    Coded<TypeParam> beside("wavelet:2,zfp:accuracy=0.01", shape, values, TypeParam(3));
    if (differ > 0) EXPECT_NE(std::to_integer<int>(beside.parts[0][0]) % 16, 0) << differ;
  }
  // Without loss, or without a bound, even the signs of zeros must be equal.
  std::vector<TypeParam> zeros(values.size(), TypeParam(0));
  zeros[7] = -zeros[7];
  for (const char* text : {"wavelet:2,zstd:3", "wavelet:2,zfp:relative=1e-3"}) {
    Coded<TypeParam> exact(text, shape, zeros);
    EXPECT_EQ(external(exact.level(0)), exact.raw) << text;
  }
}

// A decoded value equals the fill value only where it is missing.
TYPED_TEST(Hierarchy, no_value_becomes_the_fill_value) {
  const std::vector<Count> shape{16, 16, 16};
  constexpr double bound = 0.01;
  for (const double fill : {0.0, 300.0, -300.0}) {
    std::vector<TypeParam> values(16 * 16 * 16);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<TypeParam>(fill + (i % 2 == 0 ? 1e-3 : -1e-3));
    values[5] += 1;  // or a single value
    for (const bool missing : {false, true}) {
      const auto its = static_cast<TypeParam>(fill);
      if (missing) values[3000] = its;
      for (const char* codec : {"zfp:accuracy=0.01", "zstd:3"}) {
        Coded<TypeParam> coded(std::string("wavelet:2,") + codec, shape, values, its);
        const double error = hierarchy_facts(coded.parts[0], 2).error;
        EXPECT_LE(error, bound);
        const auto wanted = true_levels(values, shape, 2);
        for (int k = 0; k <= 2; ++k) {
          const auto level = coded.level(k);
          EXPECT_EQ(std::ranges::count(level, its), k == 0 && missing ? 1 : 0)
              << fill << ", " << codec << ", level " << k;
          if (!missing) EXPECT_LE(largest_error(level, wanted[static_cast<std::size_t>(k)]), error);
        }
      }
    }
  }
}

TYPED_TEST(Hierarchy, cut_or_foreign_bytes_are_errors) {
  std::mt19937 random(8);
  const std::vector<Count> shape{12, 12, 12};
  auto values = smooth_field<TypeParam>(shape, random, 0.1);
  values[7] = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const char* text : {"wavelet:2,zfp:accuracy=0.01", "wavelet:2,zstd:3"}) {
    Coded<TypeParam> coded(text, shape, values);
    const auto whole = coded.parts;
    int errors = 0, tries = 0;
    for (int round = 0; round < 400; ++round) {
      coded.parts = whole;
      auto& part = coded.parts[random() % coded.parts.size()];
      if (part.empty()) continue;
      if (round % 2 == 0)
        part.resize(random() % part.size());
      else
        part[random() % part.size()] ^= static_cast<std::byte>(1 + random() % 255);
      ++tries;
      try {
        coded.level(static_cast<int>(random() % 3));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Errc::enotnc) << error.what();
        ++errors;
      }
    }
    EXPECT_GT(errors, tries / 4);
  }
}

TEST(HierarchyText, goes_with_what_keeps_a_bound_or_everything) {
  EXPECT_EQ(Pipeline::parse("wavelet:4,zfp:relative=1e-3").parts(), 5);
  EXPECT_TRUE(Pipeline::parse("wavelet:4,zfp:relative=1e-3").wants_range());
  EXPECT_EQ(Pipeline::parts_of("wavelet:3,none-of-ours"), 4);
  EXPECT_EQ(Pipeline::parts_of("zstd:3"), 1);
  for (const char* text :
       {"wavelet:4,zfp:rate=4", "wavelet:4,float32", "wavelet:2,zfp:accuracy=1,zstd:1",
        "zstd:3,wavelet:2", "wavelet:0", "wavelet:2,wavelet:2", "wavelet"}) {
    try {
      Pipeline::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::einval) << text;
      if (std::string(text) == "wavelet:2,zfp:accuracy=1,zstd:1")
        EXPECT_NE(std::string(error.what()).find("zfp:accuracy=1,zstd:1"), std::string::npos);
    }
  }
}

}  // namespace hierarchy_test
}  // namespace forebay
