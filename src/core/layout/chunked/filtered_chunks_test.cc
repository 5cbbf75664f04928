#include "layout/chunked/filtered_chunks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace forebay::chunked {
namespace {

constexpr std::uint32_t shuffle_filter = 2, deflate_filter = 1;

/// A variable of floats in chunks of 400 x 400, with shuffle and deflate.
StoredForm shuffled() {
  StoredForm stored;
  stored.chunk = {400, 400};
  stored.filters = {{shuffle_filter, {4}}, {deflate_filter, {6}}};
  stored.fill.resize(4);
  return stored;
}

std::vector<std::byte> noise(std::size_t bytes) {
  std::mt19937_64 random(7);
  std::vector<std::byte> values(bytes);
  for (std::byte& b : values) b = static_cast<std::byte>(random());
  return values;
}

/// Encodes a chunk at the edge of its variable, checks that it decodes to the same, and returns
/// what it was encoded to: size and mask.
std::pair<std::size_t, std::uint32_t> encoded(Count rows, Count columns,
                                              const std::vector<std::byte>& values) {
  Variable var;
  var.type = Type::float32;
  var.chunking = Chunking{};
  const auto form = form_of(shuffled(), var);
  const ChunkInfo info{Type::float32, {rows, columns}};
  CodecWorkspace workspace;
  EncodedChunk chunk = form->encode(info, values, workspace);
  const std::vector<std::byte> kept(chunk.bytes.begin(), chunk.bytes.end());
  chunk.bytes = kept;
  std::vector<std::byte> back(values.size());
  CodecWorkspace other;
  form->decode(info, chunk, back, other);
  EXPECT_EQ(back, values);
  return {kept.size(), chunk.skipped};
}

constexpr std::size_t whole = std::size_t{400} * 400 * 4;

TEST(FilteredChunks, noise_filled_up_a_little_is_stored_as_it_is) {
  EXPECT_EQ(encoded(400, 390, noise(std::size_t{400} * 390 * 4)), std::pair(whole, 3U));
}

TEST(FilteredChunks, noise_filled_up_much_is_encoded) {
  const auto [size, mask] = encoded(400, 200, noise(std::size_t{400} * 200 * 4));
  EXPECT_EQ(mask, 0U);
  EXPECT_LT(size, whole * 6 / 10);
}

TEST(FilteredChunks, numbers_filled_up_a_little_are_encoded) {
  std::vector<std::byte> values(std::size_t{400} * 390 * 4);
  for (std::size_t i = 0; i < values.size() / 4; ++i) {
    const float value = 1.0F + 1e-4F * static_cast<float>(i % 390);
    std::memcpy(values.data() + 4 * i, &value, sizeof value);
  }
  const auto [size, mask] = encoded(400, 390, values);
  EXPECT_EQ(mask, 0U);
  EXPECT_LT(size, whole / 4);
}

TEST(FilteredChunks, noise_with_numbers_in_its_midst_is_encoded) {
  auto values = noise(std::size_t{400} * 390 * 4);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 3),
            values.end() - static_cast<std::ptrdiff_t>(values.size() / 3), std::byte{0});
  const auto [size, mask] = encoded(400, 390, values);
  EXPECT_EQ(mask, 0U);
  EXPECT_LT(size, whole * 8 / 10);
}

}  // namespace
}  // namespace forebay::chunked
