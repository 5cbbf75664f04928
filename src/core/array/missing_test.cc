#include "array/missing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/byteorder.h"

namespace forebay {
namespace missing_test {

template <typename T>
Attribute attribute(const char* name, Type type, std::vector<T> values) {
  Attribute made{name, type, std::ssize(values), std::vector<std::byte>(values.size() * sizeof(T))};
  for (std::size_t i = 0; i < values.size(); ++i)
    store_be(made.value.data() + i * sizeof(T), values[i]);
  return made;
}

TEST(MissingRule, takes_attributes_of_any_numeric_type_and_of_several_values) {
  Variable var;
  var.type = Type::float32;
  var.attributes.put(attribute<double>("missing_value", Type::float64, {1e20, -1e10}));
  var.attributes.put(attribute<std::int16_t>("valid_range", Type::int16, {-5, 40}));
  var.attributes.put(attribute<std::int32_t>("valid_max", Type::int32, {30}));
  const auto rule = missing_rule(var);
  EXPECT_EQ(rule->values, (std::vector<double>{static_cast<double>(1e20F), -1e10,
                                               static_cast<double>(9.9692099683868690e+36F)}));
  EXPECT_EQ(rule->least, -5);
  EXPECT_EQ(rule->most, 30);
  EXPECT_FALSE(rule->as_float);
}

TEST(MissingRule, of_doubles_with_an_attribute_of_floats_compares_floats) {
  Variable var;
  var.type = Type::float64;
  var.attributes.put(attribute<float>("_FillValue", Type::float32, {1e20F}));
  EXPECT_TRUE(missing_rule(var)->as_float);
  EXPECT_EQ(missing_rule(var)->values[0], static_cast<double>(1e20F));
}

// Neither 1.7.5 of netCDF4-python, which warns of it, nor 2026.9 of xarray masks such a value.
TEST(MissingRule, ignores_a_number_in_text_as_netcdf4_python_and_xarray_do) {
  Variable var;
  var.type = Type::float32;
  for (const char* const text : {"-999", "-999.0", " -999 ", "1e20f"}) {
    var.attributes.put(text_attribute("missing_value", text));
    EXPECT_EQ(missing_rule(var)->values.size(), 1U) << text;  // the default fill value
  }
}

TEST(MissingRule, leaves_out_what_says_nothing) {
  Variable var;
  var.type = Type::float64;
  var.attributes.put(text_attribute("missing_value", "none"));
  var.attributes.put(text_attribute("valid_range", "0 1"));
  var.attributes.put(attribute<double>("valid_min", Type::float64, {std::nan("")}));
  var.attributes.put(attribute<double>("valid_max", Type::float64, {1, 2}));
  const auto rule = missing_rule(var);
  EXPECT_EQ(rule->values.size(), 1U);  // the default fill value
  EXPECT_EQ(rule->least, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(rule->most, std::numeric_limits<double>::infinity());
  var.type = Type::int32;
  EXPECT_EQ(missing_rule(var), nullptr);
}

}  // namespace missing_test
}  // namespace forebay
