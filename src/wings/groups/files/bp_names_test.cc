// Attributes that name dimensions of BP files (groups/files/bp_source.h), and attributes that do
// not fit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "groups/files/bp_source.h"
#include "groups/format/bp_testing.h"

namespace forebay {
namespace bp_names_test {

namespace fs = std::filesystem;

class BpNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_names_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  std::unique_ptr<Source> open(const std::vector<bp::MadeStep>& steps) const {
    const std::vector<double> values(100, 1.5);
    bp::make_directory(path_, steps, std::as_bytes(std::span(values)));
    return open_bp(path_.string(), Strings::left_out);
  }

  fs::path path_;
};

using Entry = std::pair<bp::Variable, std::vector<bp::Block>>;
using Names = std::vector<std::string>;

Entry array(const std::string& name, const std::vector<Count>& shape) {
  bp::Block block;
  block.at = {shape, std::vector<Count>(shape.size(), 0), shape};
  block.payload = bp::head_bytes;
  return {{name, bp::Type::float64}, {block}};
}

bp::Attribute texts(const std::string& name, const Names& values) {
  return {name, bp::Type::string_array, {}, values};
}
bp::Attribute text(const std::string& name, const std::string& value) {
  return {name, bp::Type::string, {}, {value}};
}
bp::Attribute lengths(const std::vector<std::int64_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {
      std::string(bp_attribute::all_lengths), bp::Type::int64, {bytes.begin(), bytes.end()}, {}};
}

const std::string of_T = "T/__xarray_dimensions__", of_U = "U/__xarray_dimensions__";

Names dimensions(const Source& file, const std::string& variable) {
  Names names;
  const Schema& schema = file.schema();
  for (const DimId dim : schema.vars[static_cast<std::size_t>(*schema.find_var(variable))].dimids)
    names.push_back(schema.dims[static_cast<std::size_t>(dim)].name);
  return names;
}

bool has_attribute(const Source& file, const std::string& variable, const std::string& name) {
  const Schema& schema = file.schema();
  const VarId id = variable.empty() ? global_id : *schema.find_var(variable);
  return schema.attributes_of(id).find(name).has_value();
}

TEST_F(BpNamesTest, dimensions_are_called_as_the_attribute_says) {
  const auto file = open({{{array("T", {4, 5}), array("U", {5})},
                           {texts(of_T, {"y", "x"}), texts(of_U, {"x"}), text("T/units", "K")}}});
  EXPECT_EQ(dimensions(*file, "T"), (Names{"y", "x"}));
  EXPECT_EQ(dimensions(*file, "U"), Names{"x"});
  EXPECT_EQ(file->schema().dims.size(), 2U);
  EXPECT_TRUE(has_attribute(*file, "T", "units"));
  EXPECT_TRUE(file->left_out().empty());
}

TEST_F(BpNamesTest, steps_have_the_name_that_the_first_variable_gives_them) {
  const bp::MadeStep step{{array("T", {4}), array("U", {5})},
                          {texts(of_T, {"x"}), text("T/bp_step_dimension", "time"),
                           text("U/bp_step_dimension", "tick")}};
  const auto file = open({step, step});
  EXPECT_EQ(dimensions(*file, "T"), (Names{"time", "x"}));
  EXPECT_EQ(dimensions(*file, "U"), (Names{"time", "dim_5"}));
  EXPECT_TRUE(file->unlimited(*file->schema().find_dim("time")));
  EXPECT_FALSE(has_attribute(*file, "T", "bp_step_dimension"));
  EXPECT_TRUE(has_attribute(*file, "U", "bp_step_dimension"));
}

TEST_F(BpNamesTest, one_record_is_a_record_where_the_attribute_says_so) {
  const auto file =
      open({{{array("T", {4}), array("U", {4})}, {text("T/bp_step_dimension", "t")}}});
  EXPECT_EQ(dimensions(*file, "T"), (Names{"t", "dim_4"}));
  EXPECT_EQ(dimensions(*file, "U"), Names{"dim_4"});
  EXPECT_EQ(file->schema().numrecs, 1);
  std::vector<double> values(4);
  file->read(*file->schema().find_var("T"), {{0, 0}, {1, 4}, {}}, values.data());
  EXPECT_EQ(values, (std::vector<double>{1.5, 1.5, 1.5, 1.5}));
}

TEST_F(BpNamesTest, a_name_that_does_not_fit_is_not_taken) {
  struct Case {
    Names told, expected;
  };
  for (const auto& [told, expected] :
       std::vector<Case>{{{"y"}, {"dim_4", "dim_5"}},            // too few
                         {{"y", "x", "z"}, {"dim_4", "dim_5"}},  // too many
                         {{"y", "y"}, {"y", "dim_5"}},           // two lengths
                         {{"y", ""}, {"y", "dim_5"}},            // no name
                         {{"y ", "x\n"}, {"dim_4", "dim_5"}},    // not valid in netCDF
                         {{"dim_5", "x"}, {"dim_5", "x"}}}) {    // dim_5 has length 4
    const auto file = open({{{array("T", {4, 5}), array("U", {5})}, {texts(of_T, told)}}});
    EXPECT_EQ(dimensions(*file, "T"), expected);
    EXPECT_EQ(file->length(file->schema().vars[1].dimids[0]), 5);
    EXPECT_EQ(file->shape(0), (std::vector<Count>{4, 5}));
  }
}

TEST_F(BpNamesTest, all_dimensions_are_told_or_none) {
  const Names names{"time", "y", "nobody"};
  const auto with = [&](const Names& told, const std::vector<std::int64_t>& long_) {
    return open({{{array("T", {4})}, {texts("bp_dimensions", told), lengths(long_)}}});
  };
  const auto file = with(names, {0, 4, 7});
  ASSERT_EQ(file->schema().dims.size(), 4U);  // dimensions of T have no names
  EXPECT_EQ(file->length(2), 7);
  EXPECT_TRUE(file->unlimited(0));
  EXPECT_EQ(file->schema().numrecs, 0);
  EXPECT_FALSE(has_attribute(*file, "", "bp_dimension_lengths"));
  for (const auto& wrong : std::vector<std::vector<std::int64_t>>{{0, 4}, {0, 0, 7}, {0, -4, 7}}) {
    const auto without = with(names, wrong);
    EXPECT_EQ(without->schema().dims.size(), 1U);
    EXPECT_TRUE(has_attribute(*without, "", "bp_dimension_lengths"));
  }
  EXPECT_EQ(with({"a", "a", "b"}, {1, 2, 3})->schema().dims.size(), 1U);
  EXPECT_EQ(with({"a", "b/c", "b"}, {1, 2, 3})->schema().dims.size(), 1U);
}

// The reader's own names may be in use.
TEST_F(BpNamesTest, a_name_that_is_taken_gets_longer) {
  const std::vector<bp::Attribute> told{texts("bp_dimensions", {"dim_4", "step"}), lengths({3, 2})};
  const bp::MadeStep step{{array("T", {4})}, told};
  const auto file = open({step, step});
  EXPECT_EQ(dimensions(*file, "T"), (Names{"step_", "dim_4_"}));
  EXPECT_EQ(file->shape(0), (std::vector<Count>{2, 4}));
}

}  // namespace bp_names_test
}  // namespace forebay
