// What the C functions return for files that adios2 writes in another way than this library.
#include "groups/records/group_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "groups/format/bp_testing.h"

namespace forebay {
namespace group_reader_test {

namespace fs = std::filesystem;
using bp::Block;

class GroupReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_groups_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  void make(const std::vector<Block>& blocks, bp::Type type = bp::Type::float64) const {
    const std::vector<double> values{1, 2, 3, 4};
    bp::make_directory(path_, {{{{{"T", type}, blocks}}, {}}}, std::as_bytes(std::span(values)));
  }
  static void set_range(Block& block, double least, double greatest) {
    std::memcpy(block.min.data(), &least, sizeof least);
    std::memcpy(block.max.data(), &greatest, sizeof greatest);
  }
  static Block array(Count count, double least, double greatest) {
    Block block;
    block.at.count = {count};
    block.payload = bp::head_bytes;
    block.has_range = true;
    set_range(block, least, greatest);
    return block;
  }
  static Block value(double number, bool of_rank = false) {
    Block block;
    if (of_rank) block.at.shape = {bp::local_value};
    block.has_value = true;
    set_range(block, number, number);
    return block;
  }

  struct Statistics {
    int any = 9;
    double least = -77, greatest = -77;
    bool operator==(const Statistics&) const = default;
  };
  Statistics of(const std::vector<Block>& blocks) const {
    make(blocks);
    GroupReader file(Comm(), path_.string());
    Statistics found;
    found.any = file.range("T", 0, found.least, found.greatest);
    return found;
  }

  fs::path path_;
};

TEST_F(GroupReaderTest, statistics_are_of_all_elements_or_not_known) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Statistics none{0, -77, -77}, unknown{-1, -77, -77};
  EXPECT_EQ(of({array(2, 3, 7), array(2, -1, 4)}), (Statistics{1, -1, 7}));
  EXPECT_EQ(of({array(0, 0, 0), array(2, 3, 7)}), (Statistics{1, 3, 7}));  // adios2's empty block
  EXPECT_EQ(of({array(2, inf, -inf), array(2, 3, 7)}), (Statistics{1, 3, 7}));  // ours: none counts
  EXPECT_EQ(of({array(2, inf, -inf)}), none);
  EXPECT_EQ(of({array(2, 3, inf), array(2, 3, 7)}), unknown);
  EXPECT_EQ(of({value(4)}), (Statistics{1, 4, 4}));
  EXPECT_EQ(of({value(inf)}), none);
  EXPECT_EQ(of({value(std::nan(""))}), none);
  EXPECT_EQ(of({value(4, true), value(inf, true), value(-2, true)}), (Statistics{1, -2, 4}));
}

TEST_F(GroupReaderTest, squares_beyond_the_largest_number_are_not_taken_for_none) {
  Block block = array(2, -1e200, 1e200);
  block.has_moments = true;
  block.moments = {2, 0, std::numeric_limits<double>::infinity()};
  make({block});
  const GroupReader file(Comm(), path_.string());
  double mean = 9, deviation = 9;
  EXPECT_EQ(file.moments("T", 0, mean, deviation), 2);
  EXPECT_EQ(mean, 0);
  EXPECT_TRUE(std::isinf(deviation));
  block.moments = {2, 2e200, std::numeric_limits<double>::infinity()};
  make({block});
  EXPECT_EQ(GroupReader(Comm(), path_.string()).moments("T", 0, mean, deviation), 2);
  EXPECT_TRUE(std::isinf(deviation));
}

TEST_F(GroupReaderTest, values_of_ranks_lie_one_behind_the_other) {
  make({value(4, true), value(5, true)});
  const GroupReader file(Comm(), path_.string());
  EXPECT_EQ(file.dimensions("T"), 1);
  EXPECT_EQ(file.shape("T", 0), std::vector<std::int64_t>{2});
  std::int64_t start = -9, count = -9;
  file.block("T", 0, 1, &start, &count);
  EXPECT_EQ(start, 0);
  EXPECT_EQ(count, 1);
  double number = 0;
  file.read_block("T", 0, 1, &number);
  EXPECT_EQ(number, 5);
}

TEST_F(GroupReaderTest, no_room_is_needed_for_nothing) {
  make({array(2, 0, 0)});
  const GroupReader file(Comm(), path_.string());
  const std::int64_t start = 1, none = 0, one = 1;
  EXPECT_FALSE(attempt_to([&] { file.read("T", 0, &start, &none, nullptr); }));
  EXPECT_EQ(attempt_to([&] { file.read("T", 0, &start, &one, nullptr); })->code(), Errc::einval);
}

TEST_F(GroupReaderTest, strings_of_ranks_are_refused) {
  Block text;
  text.at.shape = {bp::local_value};
  text.has_value = true;
  text.text = "one";
  make({text, text}, bp::Type::string);
  const GroupReader file(Comm(), path_.string());
  char room[8] = "";
  EXPECT_EQ(attempt_to([&] { file.read("T", 0, nullptr, nullptr, room); })->code(),
            Errc::enotsupport);
  EXPECT_EQ(attempt_to([&] { file.bytes("T", 0); })->code(), Errc::enotsupport);
}

}  // namespace group_reader_test
}  // namespace forebay
