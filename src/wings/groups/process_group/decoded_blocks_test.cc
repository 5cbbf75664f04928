#include "groups/process_group/decoded_blocks.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace forebay::process_group {
namespace decoded_blocks_test {

bp::Block block_at(Offset payload, Count bytes) {
  bp::Block block;
  block.operation = "zfp";
  block.payload = payload;
  block.stored = 10;
  block.bytes = bytes;
  return block;
}

class DecodedBlocksTest : public testing::Test {
 protected:
  /// Returns whether a block was kept.
  bool is_kept(const bp::Block& block, bp::Type type = bp::Type::float64) {
    bool is_kept = true;
    const auto values = blocks_.get(DecodedBlocks::key_of(type, block), block.bytes, [&] {
      is_kept = false;
      return RawBytes(static_cast<std::size_t>(block.bytes));
    });
    EXPECT_EQ(std::ssize(values), block.bytes);
    return is_kept;
  }
  DecodedBlocks blocks_{10000};
};

TEST_F(DecodedBlocksTest, those_used_longest_ago_make_room) {
  for (const Offset at : {1, 2, 3}) EXPECT_FALSE(is_kept(block_at(at, 3000)));
  EXPECT_TRUE(is_kept(block_at(1, 3000)));
  EXPECT_FALSE(is_kept(block_at(4, 3000)));
  EXPECT_TRUE(is_kept(block_at(1, 3000)));
  EXPECT_FALSE(is_kept(block_at(2, 3000)));
}

TEST_F(DecodedBlocksTest, a_block_that_is_larger_than_the_memory_is_kept_alone) {
  EXPECT_FALSE(is_kept(block_at(1, 3000)));
  EXPECT_FALSE(is_kept(block_at(2, 20000)));
  EXPECT_TRUE(is_kept(block_at(2, 20000)));
  EXPECT_FALSE(is_kept(block_at(1, 3000)));
  EXPECT_FALSE(is_kept(block_at(2, 20000)));
}

TEST_F(DecodedBlocksTest, blocks_that_differ_in_anything_are_different_ones) {
  EXPECT_FALSE(is_kept(block_at(1, 800)));
  EXPECT_FALSE(is_kept(block_at(1, 1600)));
  EXPECT_FALSE(is_kept(block_at(1, 800), bp::Type::int64));
  bp::Block other = block_at(1, 800);
  other.stored = 11;
  EXPECT_FALSE(is_kept(other));
  other = block_at(1, 800);
  other.operation = "blosc";
  EXPECT_FALSE(is_kept(other));
  EXPECT_TRUE(is_kept(block_at(1, 800)));
}

TEST_F(DecodedBlocksTest, a_block_that_cannot_be_decoded_is_not_kept) {
  const auto key = DecodedBlocks::key_of(bp::Type::float64, block_at(1, 800));
  EXPECT_THROW(blocks_.get(key, 800, []() -> RawBytes { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_FALSE(is_kept(block_at(1, 800)));
}

}  // namespace decoded_blocks_test
}  // namespace forebay::process_group
