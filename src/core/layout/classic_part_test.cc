#include "layout/classic_part.h"

#include <gtest/gtest.h>

#include <limits>

namespace forebay {
namespace classic_part_test {

/// Besides chunks: `a` at byte 1000, 8 bytes a record, and `b` at 1008, 4 bytes a record. So a
/// record has 12 bytes. The layouts' state has three records.
class AddedRecords : public ::testing::Test {
 protected:
  AddedRecords() {
    for (const auto& [begin, bytes] : {std::pair{Offset{0}, 400}, {1000, 8}, {1008, 4}}) {
      Variable& var = schema_.vars.emplace_back();
      var.type = Type::uint8;
      var.is_record = true;
      var.dimids = {0, 1};
      var.shape = {0, bytes};
      var.inner_elements = bytes;
      var.begin = begin;
    }
    schema_.vars[0].chunking.emplace();
    schema_.recsize = 12;
    schema_.numrecs = 3;
  }

  Count kept(Count in_header, Offset file_size) {
    Schema schema = schema_;
    keep_added_records(schema, in_header, file_size);
    return schema.numrecs;
  }

  Schema schema_;
};

constexpr Count huge = std::numeric_limits<Count>::max();

TEST_F(AddedRecords, count_as_far_as_they_begin_within_the_file) {
  EXPECT_EQ(5, kept(5, 1000 + 5 * 12));
  EXPECT_EQ(5, kept(5, 1 << 20));
  EXPECT_EQ(5, kept(5, 1000 + 4 * 12 + 1));  // PnetCDF may end the file early
  EXPECT_EQ(4, kept(5, 1000 + 4 * 12));
  EXPECT_EQ(4, kept(1 << 30, 1000 + 4 * 12));
  EXPECT_EQ(3, kept(huge, 1000 + 4 * 12)) << "what cannot be was never written";
}

TEST_F(AddedRecords, take_none_away) {
  EXPECT_EQ(3, kept(2, 1 << 20));
  EXPECT_EQ(3, kept(3, 1 << 20));
  EXPECT_EQ(3, kept(5, 1000 + 12)) << "the file is short";
  EXPECT_EQ(3, kept(5, 1000));
  EXPECT_EQ(3, kept(5, 0));
}

TEST_F(AddedRecords, are_those_of_classic_variables) {
  schema_.vars.resize(1);
  EXPECT_EQ(3, kept(5, 1 << 20));
  schema_.vars.clear();
  EXPECT_EQ(3, kept(5, 1 << 20));
}

TEST_F(AddedRecords, of_no_bytes_are_none) {
  schema_.recsize = 0;
  EXPECT_EQ(3, kept(5, 1 << 20));
}

}  // namespace classic_part_test
}  // namespace forebay
