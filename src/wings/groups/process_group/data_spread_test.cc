#include "groups/process_group/data_spread.h"

#include <gtest/gtest.h>

#include "groups/process_group/bp_files.h"

namespace forebay::process_group {
namespace data_spread_test {

constexpr int all = WriteOptions::all_ranks, node = WriteOptions::ranks_of_node;
constexpr Count mib = 1 << 20, least = mib / 2;

TEST(DataSpread, as_few_ranks_share_a_file_as_have_enough_for_one) {
  EXPECT_EQ(spread_of(4 * 64 * mib, 4, 4), 1);
  EXPECT_EQ(spread_of(4 * least, 4, 4), 1);
  EXPECT_EQ(spread_of(4 * least - 4, 4, 4), 2);
  EXPECT_EQ(spread_of(4 * least, 16, 16), 4);
  EXPECT_EQ(spread_of(16 * least, 64, 16), 4);
}

TEST(DataSpread, little_goes_to_one_file) {
  EXPECT_EQ(spread_of(0, 4, 4), all);
  EXPECT_EQ(spread_of(100, 1000, 4), all);
  EXPECT_EQ(spread_of(least, 4, 4), all);
  EXPECT_EQ(spread_of(least - 1, 4, 4), all);
  EXPECT_EQ(spread_of(64 * mib, 1, 1), all);
  EXPECT_EQ(spread_of(100 * mib, 1'000'000, 128), all);
}

TEST(DataSpread, files_are_few_and_of_one_node) {
  EXPECT_EQ(spread_of(128 * 64 * mib, 128, 128), 2);
  EXPECT_EQ(spread_of(Count{1024} * 64 * mib, 1024, 8), node);
  EXPECT_EQ(spread_of(Count{1'000'000} * 64 * mib, 1'000'000, 128), node);
  EXPECT_EQ(spread_of(Count{1} << 62, 1'000'000, 1), node);
}

}  // namespace data_spread_test
}  // namespace forebay::process_group
