// Lossless pipelines restore every chunk bit for bit.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/error.h"
#include "codec/chunks_testing.h"

namespace forebay {
namespace lossless_test {

using namespace codec_test;

class Lossless : public testing::TestWithParam<const char*> {};

TEST_P(Lossless, gives_every_chunk_back_exactly) {
  const Pipeline all = Pipeline::parse(GetParam());
  ASSERT_FALSE(all.lossy());
  CodecWorkspace workspace;
  std::size_t made_smaller = 0;
  unsigned seed = 0;
  for (const Type type : all_types) {
    const Pipeline pipeline = all.for_type(type);
    for (const auto& shape : all_shapes()) {
      const Values kind = all_values[++seed % all_values.size()];
      const Chunk chunk = make_chunk(type, shape, kind, seed);
      const Trip trip = round_trip(pipeline, chunk, workspace);
      ASSERT_EQ(trip.raw, chunk.raw) << GetParam() << " " << describe(chunk.info, kind);
      ASSERT_LE(trip.stored.size(), chunk.raw.size());
      if (trip.stored.size() < chunk.raw.size()) ++made_smaller;
    }
  }
  const std::string text = GetParam();
  const bool compresses = text.find("zstd") != text.npos || text.find("deflate") != text.npos;
  if (compresses) {
    EXPECT_GT(made_smaller, 50U);
  }
}

TEST_P(Lossless, gives_hard_floating_point_data_back_exactly) {
  const Pipeline all = Pipeline::parse(GetParam());
  CodecWorkspace workspace;
  for (const Type type : {Type::float32, Type::float64})
    for (const Values kind : all_values)
      for (const auto& shape : {std::vector<Count>{1201}, {19, 23, 3}, {3, 3, 3, 3, 17}}) {
        const Chunk chunk = make_chunk(type, shape, kind);
        const Trip trip = round_trip(all.for_type(type), chunk, workspace);
        ASSERT_EQ(trip.raw, chunk.raw) << GetParam() << " " << describe(chunk.info, kind);
      }
}

INSTANTIATE_TEST_SUITE_P(Codec, Lossless,
                         testing::Values("none", "deflate:1", "deflate:6", "deflate:12", "zstd:-5",
                                         "zstd:1", "zstd:3", "zstd:19", "shuffle,zstd:3",
                                         "shuffle,deflate:6", "bitshuffle,zstd:1", "shuffle",
                                         "bitshuffle,deflate:3,zstd:5", "zfp:reversible",
                                         "zfp:reversible,zstd:1", "zstd:1,deflate:1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Lossless, known_streams_of_deflate_and_zstd_are_what_other_libraries_write) {
  // 2048 zero bytes, compressed by Python's zlib and by the command zstd.
  CodecWorkspace workspace;
  const Chunk zeros = make_chunk(Type::int32, {512}, Values::zeros);
  const auto decoded = [&](const char* pipeline, std::vector<int> stored) {
    std::vector<std::byte> bytes, raw(2048, std::byte{1});
    for (const int value : stored) bytes.push_back(static_cast<std::byte>(value));
    Pipeline::parse(pipeline).decode(zeros.info, bytes, 0, raw, workspace);
    return raw;
  };
  EXPECT_EQ(
      decoded("deflate", {0x78, 0x9c, 0x63, 0x60, 0x18, 0x05, 0xa3, 0x60, 0x14, 0x8c, 0x82, 0x51,
                          0x30, 0x0a, 0x46, 0xc1, 0x48, 0x03, 0x00, 0x08, 0x00, 0x00, 0x01}),
      zeros.raw);
  EXPECT_EQ(decoded("zstd", {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x00, 0x07, 0x4d, 0x00, 0x00, 0x10, 0x00,
                             0x00, 0x01, 0x00, 0xfb, 0xff, 0x00, 0x0b}),
            zeros.raw);
}

TEST(Lossless, one_pipeline_serves_two_threads_with_a_workspace_each) {
  const Pipeline pipeline = Pipeline::parse("shuffle,zstd:3,deflate:1");
  std::array<int, 2> wrong{};
  const auto work = [&](std::size_t thread) {
    CodecWorkspace workspace;
    for (unsigned seed = 0; seed < 40; ++seed) {
      const Chunk chunk =
          make_chunk(Type::float32, {40 + static_cast<Count>(thread), 50}, Values::smooth, seed);
      if (round_trip(pipeline, chunk, workspace).raw != chunk.raw) ++wrong[thread];
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(wrong[0] + wrong[1], 0);
}

TEST(Deflate, noise_is_left_alone_and_what_repeats_within_the_window_is_not) {
  const Pipeline pipeline = Pipeline::parse("deflate:6");
  const ChunkInfo chunk{Type::byte, {1 << 20}};
  std::vector<std::byte> raw(1 << 20);
  std::mt19937_64 random(3);
  for (std::byte& b : raw) b = static_cast<std::byte>(random());
  CodecWorkspace workspace;
  EXPECT_EQ(pipeline.encode(chunk, raw, workspace).bytes.size(), raw.size());
  // Noise that repeats after 16,000 bytes.
  for (std::size_t i = 16'000; i < raw.size(); ++i) raw[i] = raw[i - 16'000];
  EXPECT_LT(pipeline.encode(chunk, raw, workspace).bytes.size(), raw.size() / 8);
  // Noise with a part that is zero.
  for (std::byte& b : raw) b = static_cast<std::byte>(random());
  std::fill(raw.begin() + (1 << 19), raw.end(), std::byte{0});
  EXPECT_LT(pipeline.encode(chunk, raw, workspace).bytes.size(), raw.size() * 6 / 10);
}

}  // namespace lossless_test
}  // namespace forebay
