#include "base/kept_blocks.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr Count size = 64 << 10;

TEST(KeptBlocks, the_same_size_is_the_same_memory) {
  KeptBlocks kept;
  auto block = kept.take(size, 10 * size);
  const std::byte* const first = block.get();
  kept.give(std::move(block), size, 10 * size);
  EXPECT_EQ(kept.bytes(), size);
  const auto other = kept.take(size + 1, 10 * size);
  EXPECT_NE(other.get(), first);
  block = kept.take(size, 10 * size);
  EXPECT_EQ(block.get(), first);
  EXPECT_EQ(kept.bytes(), 0);
  EXPECT_NE(kept.take(size, 10 * size).get(), first);
}

TEST(KeptBlocks, no_more_than_the_limit_is_kept) {
  KeptBlocks kept;
  for (Count n = 0; n < 5; ++n) {
    kept.give(std::make_unique<std::byte[]>(size + n), size + n, 3 * size + 10);
    EXPECT_LE(kept.bytes(), 3 * size + 10);
  }
  EXPECT_GT(kept.bytes(), 0);
  kept.give(std::make_unique<std::byte[]>(100), 100, size);  // not worth it
  const Count before = kept.bytes();
  kept.give(std::make_unique<std::byte[]>(9 * size), 9 * size, 8 * size);
  EXPECT_LE(kept.bytes(), before);
  kept.give(std::make_unique<std::byte[]>(size), size, size);
  EXPECT_EQ(kept.bytes(), size);
  const auto taken = kept.take(2 * size, 0);  // no room for others beside it
  EXPECT_EQ(kept.bytes(), 0);
}

}  // namespace
}  // namespace forebay
