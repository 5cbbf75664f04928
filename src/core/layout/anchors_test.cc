#include "layout/anchors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/memory_file_testing.h"

namespace forebay {
namespace anchors_test {

class Anchors : public ::testing::Test {
 protected:
  const std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  MemoryFile file_{"memory", disk_};
};

Variable scalar(Type type, Offset begin, bool is_anchor) {
  Variable var;
  var.type = type;
  var.begin = begin;
  var.inner_elements = 1;
  if (is_anchor) var.chunking.emplace();
  return var;
}

bool is_anchor(const Variable& var) { return var.chunking.has_value(); }

TEST_F(Anchors, neighbours_go_out_in_one_call) {
  Schema schema;
  for (int i = 0; i < 400; ++i) schema.vars.push_back(scalar(Type::float32, 100 + 4 * i, true));
  write_anchors(file_, schema, 0, is_anchor);
  EXPECT_EQ(disk_->writes, 1);
  ASSERT_EQ(file_.size(), 100 + 4 * 400);
  std::vector<std::byte> bytes(4 * 400), expected;
  file_.read_at(100, bytes);
  for (const Variable& var : schema.vars) {
    const auto fill = external_fill(var);
    expected.insert(expected.end(), fill.begin(), fill.end());
  }
  EXPECT_TRUE(bytes == expected);
}

TEST_F(Anchors, what_lies_between_them_stays) {
  Schema schema;
  schema.vars = {scalar(Type::int32, 24, true), scalar(Type::uint8, 0, true),
                 scalar(Type::int32, 4, false), scalar(Type::uint8, 8, true),
                 scalar(Type::int16, 12, true), scalar(Type::float64, 16, true)};
  const std::vector<std::byte> before(24, std::byte{7});
  file_.write_at(0, before);
  disk_->writes = 0;
  write_anchors(file_, schema, 1, is_anchor);
  EXPECT_EQ(disk_->writes, 2);  // the first one, and those after the other variable
  std::vector<std::byte> bytes(24);
  file_.read_at(0, bytes);
  EXPECT_TRUE(std::equal(before.begin() + 4, before.begin() + 8, bytes.begin() + 4));
  const auto fill = external_fill(schema.vars[5]);
  EXPECT_TRUE(std::equal(fill.begin(), fill.end(), bytes.begin() + 16));
}

// In a new file nothing has values yet.
TEST_F(Anchors, of_a_new_file_go_out_with_small_holes_between_them) {
  Schema schema;
  schema.vars = {scalar(Type::int32, 0, true), scalar(Type::float64, 8, false),
                 scalar(Type::int32, 16, true), scalar(Type::int32, 10'000, true)};
  write_anchors(file_, schema, 0, is_anchor);
  EXPECT_EQ(disk_->writes, 2);
  std::vector<std::byte> bytes(20), expected(20);
  file_.read_at(0, bytes);
  const auto fill = external_fill(schema.vars[0]);
  std::copy(fill.begin(), fill.end(), expected.begin());
  std::copy(fill.begin(), fill.end(), expected.begin() + 16);
  EXPECT_TRUE(bytes == expected);
}

TEST_F(Anchors, older_ones_are_not_written_again) {
  Schema schema;
  schema.vars = {scalar(Type::int32, 0, true), scalar(Type::int32, 4, true)};
  const std::vector<std::byte> before(8, std::byte{7});
  file_.write_at(0, before);
  write_anchors(file_, schema, 1, is_anchor);
  std::vector<std::byte> bytes(8);
  file_.read_at(0, bytes);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 4, bytes.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 4, before.end(), bytes.begin() + 4));
}

}  // namespace anchors_test
}  // namespace forebay
