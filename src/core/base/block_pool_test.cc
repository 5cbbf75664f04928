#include "base/block_pool.h"

#include <gtest/gtest.h>

namespace forebay {
namespace block_pool_test {

constexpr Count size = 64 << 10;

auto up_to(Count limit) {
  return [limit] { return limit; };
}

TEST(BlockPool, the_same_size_is_the_same_memory) {
  BlockPool kept;
  auto block = kept.take(size, up_to(10 * size));
  const std::byte* const first = block.get();
  kept.give(std::move(block), size, up_to(10 * size));
  EXPECT_EQ(kept.bytes(), size);
  const auto other = kept.take(size + 1, up_to(10 * size));
  EXPECT_NE(other.get(), first);
  block = kept.take(size, up_to(10 * size));
  EXPECT_EQ(block.get(), first);
  EXPECT_EQ(kept.bytes(), 0);
  EXPECT_NE(kept.take(size, up_to(10 * size)).get(), first);
}

TEST(BlockPool, no_more_than_the_limit_is_kept) {
  BlockPool kept;
  for (Count n = 0; n < 5; ++n) {
    kept.give(std::make_unique<std::byte[]>(size + n), size + n, up_to(3 * size + 10));
    EXPECT_LE(kept.bytes(), 3 * size + 10);
  }
  EXPECT_GT(kept.bytes(), 0);
  kept.give(std::make_unique<std::byte[]>(100), 100, up_to(size));  // too small to keep
  const Count before = kept.bytes();
  kept.give(std::make_unique<std::byte[]>(9 * size), 9 * size, up_to(8 * size));
  EXPECT_LE(kept.bytes(), before);
  kept.give(std::make_unique<std::byte[]>(size), size, up_to(size));
  EXPECT_EQ(kept.bytes(), size);
  const auto taken = kept.take(2 * size, up_to(0));  // no room for other blocks
  EXPECT_EQ(kept.bytes(), 0);
}

// Computing the limit takes a walk over all files of a bundle.
TEST(BlockPool, the_limit_is_asked_for_where_it_counts) {
  BlockPool kept;
  int asked = 0;
  Count limit = size;
  const auto ask = [&] { return ++asked, limit; };
  kept.give(std::make_unique<std::byte[]>(size), size, ask);
  EXPECT_EQ(asked, 1);
  kept.give(kept.take(size, ask), size, up_to(size));
  kept.give(kept.take(12, ask), 12, ask);
  EXPECT_EQ(asked, 1);
  limit = 0;  // many small blocks leave no room either
  for (Count bytes = 0; bytes < BlockPool::least; bytes += 12) kept.take(12, ask);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(kept.bytes(), 0);
}

}  // namespace block_pool_test
}  // namespace forebay
