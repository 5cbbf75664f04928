#include "array/expression.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace forebay {
namespace expression_test {

std::optional<Count> known(std::string_view name) {
  static const std::map<std::string, Count, std::less<>> values = {
      {"nx", 10}, {"x0", -3}, {"zero", 0}, {"most", INT64_MAX}, {"least", INT64_MIN}};
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Count value(std::string_view text) { return Expression::parse(text).value(known); }

std::string refusal(const std::string& text) {
  try {
    value(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::einval);
    return error.what();
  }
  return "none";
}

TEST(Expression, is_printed_for_a_programming_language) {
  const auto printed = [](std::string_view text) {
    return Expression::parse(text).printed([](Count n) { return std::to_string(n) + "L"; },
                                           [](const std::string& n) { return "own." + n; });
  };
  EXPECT_EQ(printed("4*nx"), "(4L * own.nx)");
  EXPECT_EQ(printed("a - b - 1"), "((own.a - own.b) - 1L)");
  EXPECT_EQ(printed("-a/(b + -2)"), "((-own.a) / (own.b + (-2L)))");
}

TEST(Expression, tells_what_it_divides_by) {
  const auto divisors = [](std::string_view text) {
    std::string all;
    for (const Expression& divisor : Expression::parse(text).divisors())
      all += divisor.printed([](Count n) { return std::to_string(n); },
                             [](const std::string& n) { return n; }) +
             ";";
    return all;
  };
  EXPECT_EQ(divisors("4*nx + 1"), "");
  EXPECT_EQ(divisors("(nx + 1)/2"), "");
  EXPECT_EQ(divisors("nx/0"), "0;");
  EXPECT_EQ(divisors("nx/-(a + 1) + 2/b"), "(-(a + 1));b;");
  EXPECT_EQ(divisors("1/(a/b)"), "b;(a / b);");
}

TEST(Expression, has_the_value_that_arithmetic_gives_it) {
  EXPECT_EQ(value("64"), 64);
  EXPECT_EQ(value(" 4*nx "), 40);
  EXPECT_EQ(value("2+3*4"), 14);
  EXPECT_EQ(value("(2+3)*4"), 20);
  EXPECT_EQ(value("100/7/2"), 7);
  EXPECT_EQ(value("10-3-2"), 5);
  EXPECT_EQ(value("-nx + 12"), 2);
  EXPECT_EQ(value("2*-(x0)"), 6);
  EXPECT_EQ(value("-7/2"), -3);
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
}

TEST(Expression, that_is_none_is_refused_with_its_place) {
  EXPECT_NE(refusal("").find("character 1"), std::string::npos);
  EXPECT_NE(refusal("4*").find("character 3: a number"), std::string::npos) << refusal("4*");
  EXPECT_NE(refusal("(nx").find("closing parenthesis"), std::string::npos);
  EXPECT_NE(refusal("nx)").find("nothing may follow"), std::string::npos);
  EXPECT_NE(refusal("4 nx").find("nothing may follow"), std::string::npos);
  EXPECT_NE(refusal("4nx").find("belongs to no number"), std::string::npos);
  EXPECT_NE(refusal("1.5").find("belongs to no number"), std::string::npos);
  EXPECT_NE(refusal("nx % 2").find("nothing may follow"), std::string::npos);
  EXPECT_NE(refusal("9223372036854775808").find("beyond 63 bits"), std::string::npos);
}

TEST(Expression, of_any_depth_ends) {
  EXPECT_EQ(value(std::string(200, '(') + "nx" + std::string(200, ')')), 10);
  EXPECT_NE(refusal(std::string(100000, '(')).find("more than 256 terms"), std::string::npos);
  EXPECT_NE(refusal(std::string(100000, '-')).find("more than 256 terms"), std::string::npos);
}

TEST(Expression, without_a_value_is_refused) {
  EXPECT_NE(refusal("ny").find("ny was not written"), std::string::npos);
  EXPECT_NE(refusal("nx/zero").find("divides by 0"), std::string::npos);
  EXPECT_NE(refusal("most+1").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("least-1").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("most*2").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("-least").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("least/(0-1)").find("64 bits"), std::string::npos);
}

TEST(Expression, lists_have_commas) {
  const auto list = parse_expressions("4*nx, (64)");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].text(), "4*nx");
  EXPECT_EQ(list[0].value(known), 40);
  EXPECT_EQ(list[1].value(known), 64);
  EXPECT_TRUE(parse_expressions("  ").empty());
  EXPECT_THROW(parse_expressions("4,"), Error);
  EXPECT_THROW(parse_expressions(",4"), Error);
  EXPECT_THROW(parse_expressions("4;5"), Error);
}

TEST(Expression, tells_its_names_once) {
  EXPECT_EQ(Expression::parse("nx*(ny+nx)").names(), (std::vector<std::string>{"nx", "ny"}));
}

}  // namespace expression_test
}  // namespace forebay
