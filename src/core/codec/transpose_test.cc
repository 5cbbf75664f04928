#include "codec/transpose.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "codec/chunks_testing.h"

namespace forebay {
namespace transpose_test {

using codec_test::Chunk;
using codec_test::Values;

std::vector<std::byte> random_bytes(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<std::byte> bytes(n);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Both directions of the layout in transpose.h, for every number of elements around the blocks.
TEST(ShuffleBytes, has_the_layout_of_hdf5_and_numcodecs) {
  for (const int width : {1, 2, 4, 8}) {
    for (std::size_t n = 0; n < 150; ++n) {
      const auto w = static_cast<std::size_t>(width);
      const auto src = random_bytes(n * w);
      std::vector<std::byte> shuffled(n * w), back(n * w);
      shuffle_bytes(shuffled.data(), src.data(), n, width);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t b = 0; b < w; ++b)
          ASSERT_EQ(shuffled[b * n + i], src[i * w + b]) << "width " << width << " n " << n;
      unshuffle_bytes(back.data(), shuffled.data(), n, width);
      ASSERT_EQ(back, src) << "width " << width << " n " << n;
    }
  }
}

// A codec without effect would be skipped, so this uses a codec that has one.
TEST(Bitshuffle, puts_bit_planes_of_whole_groups_of_eight_one_after_the_other) {
  CodecWorkspace workspace;
  const Pipeline packed = Pipeline::parse("bitshuffle,zstd:1");
  const Pipeline opened = Pipeline::parse("zstd:1");
  for (const Type type : {Type::int16, Type::int32, Type::float64}) {
    const auto w = static_cast<std::size_t>(size_of(type));
    for (const Count n : {1024, 1027, 2048 + 63, 4099}) {
      const Chunk chunk = codec_test::make_chunk(type, {n}, Values::steps);
      const EncodedChunk encoded = packed.encode(chunk.info, chunk.raw, workspace);
      ASSERT_EQ(encoded.skipped, 0U);
      const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
      std::vector<std::byte> planes(chunk.raw.size());
      opened.decode(chunk.info, stored, 0, planes, workspace);

      const std::size_t columns = static_cast<std::size_t>(n) / 8;
      for (std::size_t b = 0; b < w; ++b)
        for (std::size_t k = 0; k < 8; ++k)
          for (std::size_t i = 0; i < columns; ++i)
            for (std::size_t e = 0; e < 8; ++e) {
              const auto plane = std::to_integer<unsigned>(planes[(8 * b + k) * columns + i]);
              const auto byte = std::to_integer<unsigned>(chunk.raw[(8 * i + e) * w + b]);
              ASSERT_EQ(plane >> e & 1U, byte >> k & 1U) << n << " elements of " << w;
            }
      for (std::size_t at = columns * 8 * w; at < planes.size(); ++at)
        ASSERT_EQ(planes[at], chunk.raw[at]) << "the rest is copied";
    }
  }
}

}  // namespace transpose_test
}  // namespace forebay
