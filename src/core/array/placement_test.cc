#include "array/placement.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace forebay {
namespace placement_test {

// time is the record dimension, then one dimension for each length given.
Schema schema_with(std::vector<Count> lengths) {
  Schema schema;
  schema.version = 5;
  schema.header_size = 200;
  schema.add_dim({"time", 0});
  for (Count length : lengths) schema.add_dim({"d" + std::to_string(schema.dims.size()), length});
  return schema;
}

void add(Schema& schema, Type type, std::vector<DimId> dimids, Offset begin) {
  Variable var;
  var.name = "v" + std::to_string(schema.vars.size());
  var.type = type;
  var.dimids = std::move(dimids);
  var.begin = begin;
  schema.add_var(std::move(var));
}

Errc code_of_adopting(Schema schema) {
  try {
    adopt_placement(schema);
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

TEST(RecordSize, is_padded_for_several_variables_only) {
  Schema schema = schema_with({3});
  EXPECT_EQ(record_size(schema), 0);
  add(schema, Type::byte, {0, 1}, 512);
  EXPECT_EQ(record_size(schema), 3);
  add(schema, Type::int16, {0}, 516);
  EXPECT_EQ(record_size(schema), 8);
}

TEST(AdoptPlacement, finds_the_sections) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {0, 1}, 700);
  add(schema, Type::int32, {1}, 512);
  add(schema, Type::int32, {0}, 704);
  adopt_placement(schema);
  EXPECT_EQ(schema.header_extent, 512);
  EXPECT_EQ(schema.begin_rec, 700);
  EXPECT_EQ(schema.recsize, 8);
}

TEST(AdoptPlacement, without_record_variables_records_would_follow_the_fixed_ones) {
  Schema schema = schema_with({3});
  add(schema, Type::byte, {1}, 300);
  adopt_placement(schema);
  EXPECT_EQ(schema.header_extent, 300);
  EXPECT_EQ(schema.begin_rec, 304);
  Schema empty = schema_with({});
  adopt_placement(empty);
  EXPECT_EQ(empty.header_extent, 200);
  EXPECT_EQ(empty.begin_rec, 200);
}

TEST(AdoptPlacement, refuses_variables_that_overlap_the_header_or_each_other) {
  Schema schema = schema_with({3});
  add(schema, Type::int32, {1}, 199);
  EXPECT_EQ(code_of_adopting(schema), Errc::enotnc);
  schema.vars[0].begin = 200;
  EXPECT_EQ(code_of_adopting(schema), Errc::ok);
  add(schema, Type::int32, {0}, 211);
  EXPECT_EQ(code_of_adopting(schema), Errc::enotnc);
  schema.vars[1].begin = 212;
  EXPECT_EQ(code_of_adopting(schema), Errc::ok);
}

TEST(AdoptPlacement, refuses_gaps_between_record_variables) {
  Schema schema = schema_with({3});
  add(schema, Type::int32, {0}, 512);
  add(schema, Type::int32, {0}, 516);
  EXPECT_EQ(code_of_adopting(schema), Errc::ok);
  schema.vars[1].begin = 520;
  EXPECT_EQ(code_of_adopting(schema), Errc::enotnc);
}

TEST(AdoptPlacement, refuses_ends_beyond_63_bits) {
  constexpr Offset end = std::numeric_limits<Offset>::max();
  Schema schema = schema_with({3});
  add(schema, Type::int32, {1}, end - 11);
  EXPECT_EQ(code_of_adopting(schema), Errc::enotnc);
  schema.vars[0].begin = end - 12;
  EXPECT_EQ(code_of_adopting(schema), Errc::ok);
  Schema records = schema_with({3});
  add(records, Type::int32, {0}, 512);
  records.numrecs = end / 4;
  EXPECT_EQ(code_of_adopting(records), Errc::enotnc);
  records.numrecs = end / 4 - 128;
  EXPECT_EQ(code_of_adopting(records), Errc::ok);
}

TEST(RecordsInFile, counts_records_whose_last_value_is_there) {
  Schema schema = schema_with({3});
  add(schema, Type::int32, {0}, 512);
  add(schema, Type::byte, {0, 1}, 516);
  adopt_placement(schema);
  EXPECT_EQ(records_in_file(schema, 512), 0);
  EXPECT_EQ(records_in_file(schema, 518), 0);
  EXPECT_EQ(records_in_file(schema, 519), 1);
  EXPECT_EQ(records_in_file(schema, 526), 1);
  EXPECT_EQ(records_in_file(schema, 527), 2);
  EXPECT_EQ(records_in_file(schema_with({3}), 1000), 0);
}

}  // namespace placement_test
}  // namespace forebay
