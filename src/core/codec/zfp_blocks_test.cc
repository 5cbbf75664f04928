#include "codec/zfp_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codec/zfp_stream.h"

namespace forebay {
namespace zfp_blocks_test {

template <typename T>
struct ZfpBlocks : testing::Test {
  static constexpr Type type = sizeof(T) == 4 ? Type::float32 : Type::float64;
  std::vector<std::size_t> shape;
  std::vector<T> values, rounded;
  ScratchBuffer scratch;

  ZfpField field(std::vector<T>& of) const {
    return {type, shape, reinterpret_cast<std::byte*>(of.data())};
  }
  std::vector<std::byte> stream(const ZfpMode& mode, ZfpWay way) {
    // In words, since zfp writes words.
    std::vector<std::uint64_t> words(zfp_capacity(field(values), mode) / 8 + 1);
    const auto bytes = std::as_writable_bytes(std::span(words));
    rounded.assign(values.size(), T(7));
    const std::size_t size = zfp_compress_to(field(values), mode, bytes,
                                             reinterpret_cast<std::byte*>(rounded.data()), way);
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
  }
  std::vector<T> back(std::span<const std::byte> stream, const ZfpMode& mode, ZfpWay way) {
    std::vector<T> out(values.size(), T(7));
    zfp_decompress_from(stream, field(out), mode, scratch, way);
    return out;
  }
  bool here() { return zfp_blocks::can(field(values), {ZfpMode::Kind::accuracy, 1}); }

  /// Makes smooth values with noise of this size; some are zeros.
  void make(std::vector<std::size_t> of, double noise, double scale, unsigned seed) {
    shape = std::move(of);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    values.assign(shape[0] * shape[1] * shape[2], T(0));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(i % shape[2]), y = static_cast<double>(i / shape[2]);
      if (y < static_cast<double>(shape[0]) / 3) continue;
      values[i] =
          static_cast<T>(scale * (std::sin(x / 5) + std::cos(y / 7) + noise * normal(random)));
    }
  }
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(ZfpBlocks, Reals);

// Includes subnormal numbers, whose scale is infinite.
TYPED_TEST(ZfpBlocks, streams_are_those_of_libzfp) {
  constexpr double tiny = 32 * static_cast<double>(std::numeric_limits<TypeParam>::min());
  unsigned seed = 0;
  for (const auto& shape : std::vector<std::vector<std::size_t>>{
           {4, 4, 4}, {8, 12, 16}, {5, 6, 7}, {1, 2, 3}, {9, 1, 30}, {16, 17, 4}, {64, 8, 13}}) {
    for (const double noise : {0.0, 1e-4, 1.0}) {
      for (const double scale : {1.0, 1e-20, 3e30, tiny, tiny / 64}) {
        this->make(shape, noise, scale, ++seed);
        if (!this->here()) GTEST_SKIP() << "this processor has no AVX2";
        for (const double bound : {1e-12, 1e-6, 1e-3, 0.1, 30.0}) {
          const ZfpMode mode{ZfpMode::Kind::accuracy, bound * scale};
          const auto ours = this->stream(mode, ZfpWay::quickest);
          const auto mine = this->back(ours, mode, ZfpWay::quickest);
          const auto theirs = this->back(ours, mode, ZfpWay::library);
          ASSERT_EQ(std::memcmp(mine.data(), theirs.data(), mine.size() * sizeof mine[0]), 0)
              << seed << " " << bound;
          for (const ZfpWay way : {ZfpWay::quickest, ZfpWay::library}) {
            ASSERT_EQ(ours, this->stream(mode, way)) << seed << " " << bound;
            ASSERT_EQ(std::memcmp(mine.data(), this->rounded.data(), mine.size() * sizeof mine[0]),
                      0)
                << seed << " " << bound;
          }
        }
      }
    }
  }
}

// For any bytes the result, or the error, is the same as with libzfp.
TYPED_TEST(ZfpBlocks, any_bytes_are_read_as_libzfp_reads_them) {
  this->make({6, 9, 8}, 0.1, 1, 1);
  if (!this->here()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 random(2);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    const ZfpMode mode{ZfpMode::Kind::accuracy,
                       std::ldexp(1, static_cast<int>(random() % 40) - 30)};
    auto stream = this->stream(mode, ZfpWay::library);
    const unsigned way = random() % 4;
    if (way == 0) stream.resize(random() % (stream.size() + 1) / 8 * 8);
    if (way == 1) stream.resize(stream.size() + 8);
    if (way == 2 && !stream.empty())
      for (int i = 0; i < 3; ++i) stream[random() % stream.size()] ^= std::byte(1 << random() % 8);
    if (way == 3)
      for (auto& b : stream) b = std::byte(random());
    const auto result = [&](ZfpWay by) -> std::vector<TypeParam> {
      // Exactly as long, so that a sanitizer detects reads beyond the end.
      const std::vector<std::byte> exact(stream.begin(), stream.end());
      try {
        return this->back(exact, mode, by);
      } catch (const Error&) {
        return {};
      }
    };
    const auto mine = result(ZfpWay::quickest), theirs = result(ZfpWay::library);
    ASSERT_EQ(mine.size(), theirs.size()) << round;
    read += !mine.empty();
    if (!mine.empty())
      ASSERT_EQ(std::memcmp(mine.data(), theirs.data(), mine.size() * sizeof mine[0]), 0) << round;
  }
  EXPECT_GT(read, 100);
}

}  // namespace zfp_blocks_test
}  // namespace forebay
