#include "array/schema.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"

namespace forebay {
namespace schema_test {

Attribute text_attribute(std::string name, std::size_t length) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = Type::chr;
  attribute.count = static_cast<Count>(length);
  attribute.value.resize(length, std::byte{'x'});
  return attribute;
}

Variable variable(std::string name, Type type, std::vector<DimId> dimids) {
  Variable var;
  var.name = std::move(name);
  var.type = type;
  var.dimids = std::move(dimids);
  return var;
}

Schema schema_with_dimensions() {
  Schema schema;
  schema.add_dim({"time", 0});
  schema.add_dim({"x", 3});
  schema.add_dim({"y", 5});
  return schema;
}

TEST(Schema, finds_dimensions_and_variables_by_name) {
  Schema schema = schema_with_dimensions();
  EXPECT_EQ(schema.add_var(variable("a", Type::int32, {1})), 0);
  EXPECT_EQ(schema.add_var(variable("b", Type::int32, {2})), 1);
  EXPECT_EQ(schema.find_dim("y"), 2);
  EXPECT_EQ(schema.find_dim("z"), std::nullopt);
  EXPECT_EQ(schema.find_var("b"), 1);
  EXPECT_EQ(schema.find_var("time"), std::nullopt);
}

TEST(Schema, rename_moves_the_name_and_frees_the_old_one) {
  Schema schema = schema_with_dimensions();
  schema.add_var(variable("a", Type::int32, {1}));
  schema.rename_var(0, "c");
  schema.rename_dim(1, "columns");
  EXPECT_EQ(schema.vars[0].name, "c");
  EXPECT_EQ(schema.find_var("a"), std::nullopt);
  EXPECT_EQ(schema.find_var("c"), 0);
  EXPECT_EQ(schema.find_dim("x"), std::nullopt);
  EXPECT_EQ(schema.find_dim("columns"), 1);
  EXPECT_EQ(schema.add_var(variable("a", Type::int32, {})), 1);
  EXPECT_EQ(schema.find_var("a"), 1);
}

TEST(Schema, record_dim_is_the_one_of_length_zero) {
  EXPECT_EQ(schema_with_dimensions().record_dim(), 0);
  Schema fixed;
  fixed.add_dim({"x", 3});
  EXPECT_EQ(fixed.record_dim(), std::nullopt);
}

TEST(Schema, derives_a_fixed_variable) {
  Schema schema = schema_with_dimensions();
  schema.add_var(variable("v", Type::int16, {1, 2}));
  const Variable& var = schema.vars[0];
  EXPECT_EQ(var.shape, (std::vector<Count>{3, 5}));
  EXPECT_FALSE(var.is_record);
  EXPECT_EQ(var.inner_elements, 15);
  EXPECT_EQ(var.vsize, 32);  // 30 bytes, padded
  EXPECT_EQ(schema.elements(var), 15);
}

TEST(Schema, derives_a_record_variable_per_record) {
  Schema schema = schema_with_dimensions();
  schema.numrecs = 7;
  schema.add_var(variable("v", Type::byte, {0, 1}));
  const Variable& var = schema.vars[0];
  EXPECT_EQ(var.shape, (std::vector<Count>{0, 3}));
  EXPECT_TRUE(var.is_record);
  EXPECT_EQ(var.inner_elements, 3);
  EXPECT_EQ(var.vsize, 4);
  EXPECT_EQ(schema.elements(var), 21);
}

TEST(Schema, derives_a_scalar) {
  Schema schema;
  schema.add_var(variable("s", Type::float64, {}));
  EXPECT_EQ(schema.vars[0].ndims(), 0);
  EXPECT_EQ(schema.vars[0].inner_elements, 1);
  EXPECT_EQ(schema.vars[0].vsize, 8);
}

TEST(Schema, refuses_sizes_beyond_63_bits) {
  Schema schema;
  schema.version = 5;
  schema.add_dim({"big", Count{1} << 32});
  schema.add_dim({"half", Count{1} << 31});
  schema.add_dim({"most", std::numeric_limits<Count>::max() - 3});
  const auto code_of = [&](const Variable& var) {
    try {
      schema.add_var(var);
    } catch (const Error& error) {
      return error.code();
    }
    return Errc::ok;
  };
  EXPECT_EQ(code_of(variable("elements", Type::byte, {0, 1})), Errc::evarsize);
  EXPECT_EQ(code_of(variable("bytes", Type::float64, {2})), Errc::evarsize);
  EXPECT_TRUE(schema.vars.empty());
  EXPECT_EQ(code_of(variable("largest", Type::byte, {2})), Errc::ok);
  EXPECT_EQ(schema.vars[0].vsize, std::numeric_limits<Count>::max() - 3);
}

TEST(AttributeList, put_replaces_in_place_or_appends) {
  AttributeList list;
  list.put(text_attribute("a", 1));
  list.put(text_attribute("b", 2));
  list.put(text_attribute("a", 9));
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0].name, "a");
  EXPECT_EQ(list[0].count, 9);
  EXPECT_EQ(list.find("b"), 1);
  EXPECT_EQ(list.find("c"), std::nullopt);
}

TEST(AttributeList, append_rename_and_remove_keep_the_order) {
  AttributeList list;
  for (const char* name : {"a", "b", "c"}) list.append(text_attribute(name, 1));
  list.rename(1, "beta");
  EXPECT_EQ(list.find("beta"), 1);
  list.remove(0);
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0].name, "beta");
  EXPECT_EQ(list[1].name, "c");
}

// A table finds them if there are more than a few.
TEST(AttributeList, finds_the_same_in_a_long_list) {
  AttributeList list;
  std::vector<std::string> names;
  const auto check = [&] {
    ASSERT_EQ(list.size(), static_cast<int>(names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(list[static_cast<int>(i)].name, names[i]);
      EXPECT_EQ(list.find(names[i]), static_cast<int>(i));
    }
    EXPECT_EQ(list.find("none"), std::nullopt);
  };
  for (int i = 0; i < 300; ++i) {
    names.push_back("config_" + std::to_string(i));
    list.put(text_attribute(names.back(), 1));
    if (i < 40) check();
  }
  check();
  list.put(text_attribute("config_17", 7));
  EXPECT_EQ(list[17].count, 7);
  for (const int i : {5, 299, 0}) {
    list.rename(i, names[static_cast<std::size_t>(i)] = "renamed_" + std::to_string(i));
    EXPECT_EQ(list.find("config_" + std::to_string(i)), std::nullopt);
  }
  const AttributeList before = list;
  while (list.size() > 3) {
    names.erase(names.begin() + 1);
    list.remove(1);
    if (list.size() % 50 == 3) check();
  }
  EXPECT_EQ(before.find("config_17"), 17);
}

TEST(Schema, attributes_of_chooses_the_owner) {
  Schema schema;
  schema.add_var(variable("v", Type::byte, {}));
  schema.attributes_of(global_id).put(text_attribute("title", 4));
  schema.attributes_of(0).put(text_attribute("units", 2));
  EXPECT_EQ(schema.attributes.find("title"), 0);
  EXPECT_EQ(schema.vars[0].attributes.find("units"), 0);
  EXPECT_EQ(schema.vars[0].attributes.find("title"), std::nullopt);
}

}  // namespace schema_test
}  // namespace forebay
