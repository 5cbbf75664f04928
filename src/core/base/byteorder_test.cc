#include "base/byteorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace forebay {
namespace byteorder_test {

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

// Returns external byte i of the native array for each i, by the definition.
std::vector<std::byte> external_of(const std::byte* native, std::size_t bytes, int width) {
  std::vector<std::byte> result(native, native + bytes);
  if (!native_is_big_endian)
    for (std::size_t at = 0; at < bytes; at += static_cast<std::size_t>(width))
      std::reverse(result.begin() + static_cast<std::ptrdiff_t>(at),
                   result.begin() + static_cast<std::ptrdiff_t>(at) + width);
  return result;
}

constexpr int widths[] = {1, 2, 4, 8};
constexpr std::size_t margin = 16;
constexpr auto untouched = std::byte{0xA5};

TEST(Byteorder, loads_and_stores_the_most_significant_byte_first) {
  const std::byte bytes[] = {std::byte{0x3F}, std::byte{0xF8}, std::byte{0}, std::byte{0},
                             std::byte{0},    std::byte{0},    std::byte{0}, std::byte{1}};
  EXPECT_EQ(load_be<std::uint8_t>(bytes), 0x3Fu);
  EXPECT_EQ(load_be<std::int16_t>(bytes), 0x3FF8);
  EXPECT_EQ(load_be<std::uint32_t>(bytes), 0x3FF80000u);
  EXPECT_EQ(load_be<std::int64_t>(bytes), 0x3FF8000000000001);
  EXPECT_EQ(load_be<double>(bytes), 0x1.8000000000001p0);
  std::byte out[8];
  store_be(out, 0x1.8000000000001p0);
  EXPECT_TRUE(std::equal(out, out + 8, bytes));
  store_be(out, std::int32_t{-2});
  EXPECT_EQ(out[0], std::byte{0xFF});
  EXPECT_EQ(out[3], std::byte{0xFE});
}

TEST(Byteorder, swaps_arrays_of_every_length_at_every_alignment) {
  const auto source = random_bytes(1024, 1);
  for (const int width : widths)
    for (std::size_t elements = 0; elements <= 70; ++elements)
      for (std::size_t offset = 0; offset < 64; ++offset) {
        const std::size_t bytes = elements * static_cast<std::size_t>(width);
        const std::byte* src = source.data() + offset / 8;
        std::vector<std::byte> target(bytes + 2 * margin, untouched);
        std::byte* dst = target.data() + offset % 8;
        copy_swapped(dst, src, bytes, width);
        const auto expected = external_of(src, bytes, width);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), dst))
            << "width " << width << " elements " << elements << " offset " << offset;
        ASSERT_TRUE(std::all_of(target.data(), dst, [](auto b) { return b == untouched; }));
        ASSERT_TRUE(std::all_of(dst + bytes, target.data() + target.size(),
                                [](auto b) { return b == untouched; }));
      }
}

TEST(Byteorder, swaps_in_place) {
  for (const int width : widths)
    for (const std::size_t elements : {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 1001})
      for (std::size_t offset = 0; offset < 8; ++offset) {
        const std::size_t bytes = elements * static_cast<std::size_t>(width);
        auto data = random_bytes(bytes + margin, 2);
        const auto expected = external_of(data.data() + offset, bytes, width);
        copy_swapped(data.data() + offset, data.data() + offset, bytes, width);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), data.data() + offset))
            << "width " << width << " elements " << elements << " offset " << offset;
      }
}

TEST(Byteorder, copies_ranges_that_cut_elements) {
  const auto native = random_bytes(128, 3);
  for (const int width : widths) {
    const auto external = external_of(native.data(), native.size(), width);
    for (std::int64_t first = 0; first < 64; ++first)
      for (std::int64_t bytes = 0; bytes <= 64; ++bytes) {
        std::vector<std::byte> target(static_cast<std::size_t>(bytes) + margin, untouched);
        copy_swapped_range(target.data(), native.data(), first, bytes, width);
        ASSERT_TRUE(std::equal(target.begin(), target.begin() + bytes, external.begin() + first))
            << "width " << width << " first " << first << " bytes " << bytes;
        ASSERT_EQ(target[static_cast<std::size_t>(bytes)], untouched);
      }
  }
}

TEST(Byteorder, stores_ranges_that_cut_elements_and_leaves_all_else) {
  const auto before = random_bytes(128, 4);
  const auto incoming = random_bytes(128, 5);
  for (const int width : widths)
    for (std::int64_t first = 0; first < 64; ++first)
      for (std::int64_t bytes = 0; bytes <= 64; ++bytes) {
        auto native = before;
        store_swapped_range(native.data(), first, incoming.data(), bytes, width);
        auto expected = external_of(before.data(), before.size(), width);
        std::copy(incoming.begin(), incoming.begin() + bytes, expected.begin() + first);
        ASSERT_EQ(external_of(native.data(), native.size(), width), expected)
            << "width " << width << " first " << first << " bytes " << bytes;
      }
}

TEST(Byteorder, pieces_of_a_range_join_up) {
  const auto native = random_bytes(96, 6);
  for (const int width : widths) {
    std::vector<std::byte> joined(native.size()), back(native.size());
    std::int64_t at = 0;
    for (std::int64_t piece = 1; at < 96; piece = piece % 13 + 1) {
      const std::int64_t bytes = std::min<std::int64_t>(piece, 96 - at);
      copy_swapped_range(joined.data() + at, native.data(), at, bytes, width);
      store_swapped_range(back.data(), at, joined.data() + at, bytes, width);
      at += bytes;
    }
    EXPECT_EQ(joined, external_of(native.data(), native.size(), width));
    EXPECT_EQ(back, native);
  }
}

}  // namespace byteorder_test
}  // namespace forebay
