#include "plan/error_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/error.h"

namespace forebay {
namespace error_budget_test {

/// The bits that depend on the bounds.
double bits(const std::vector<LossyVariable>& variables, const std::vector<double>& bounds) {
  double sum = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    sum -= static_cast<double>(variables[i].elements) * std::log2(bounds[i]);
  return sum;
}

double error_of(const std::vector<LossyVariable>& variables, const std::vector<double>& bounds) {
  double sum = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) sum += *variables[i].sensitivity * bounds[i];
  return sum;
}

/// The fewest bits over all distributions of the error in `parts` equal parts.
double fewest_bits(const std::vector<LossyVariable>& variables, double target, int parts) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<double> bounds(variables.size());
  const std::function<void(std::size_t, int)> share = [&](std::size_t i, int left) {
    if (i == variables.size()) {
      best = std::min(best, bits(variables, bounds));
      return;
    }
    for (int mine = 1; mine <= left; ++mine) {
      bounds[i] = std::min(variables[i].most, target * mine / parts / *variables[i].sensitivity);
      share(i + 1, left - mine);
    }
  };
  share(0, parts);
  return best;
}

TEST(ErrorBudget, no_other_bounds_store_less) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> exponent(-6, 6);
  std::uniform_int_distribution<Count> elements(1, 1000);
  for (int run = 0; run < 40; ++run) {
    std::vector<LossyVariable> variables(3);
    for (LossyVariable& v : variables) {
      v.elements = elements(random);
      v.sensitivity = std::pow(10, exponent(random));
      if (run % 2) v.most = 0.02 * std::pow(10, exponent(random) / 6) / *v.sensitivity;
    }
    const double target = 0.1;
    const auto bounds = error_bounds(variables, target);
    EXPECT_LE(error_of(variables, bounds), target * (1 + 1e-12));
    for (std::size_t i = 0; i < bounds.size(); ++i) EXPECT_LE(bounds[i], variables[i].most);
    const double fewest = fewest_bits(variables, target, 60), ours = bits(variables, bounds);
    EXPECT_LE(ours, fewest + 1e-6 * std::fabs(fewest)) << "run " << run;
  }
}

TEST(ErrorBudget, each_has_the_share_of_the_error_that_is_its_share_of_the_elements) {
  const std::vector<LossyVariable> variables{{100, 2.0, 10}, {300, 0.5, 10}};
  const auto bounds = error_bounds(variables, 0.8);
  EXPECT_DOUBLE_EQ(bounds[0], 0.2 / 2.0);
  EXPECT_DOUBLE_EQ(bounds[1], 0.6 / 0.5);
}

TEST(ErrorBudget, what_does_not_matter_and_what_is_not_linear_have_no_share) {
  const std::vector<LossyVariable> variables{
      {100, 0.0, 7}, {100, std::nullopt, 7}, {100, 1.0, 7}, {0, 1.0, 7}};
  EXPECT_EQ(error_bounds(variables, 0.5), (std::vector<double>{7, 0, 0.5, 7}));
  EXPECT_TRUE(error_bounds({}, 1).empty());
}

// Its bound would be infinite, and takes no more than its share.
TEST(ErrorBudget, what_hardly_matters_leaves_the_others_theirs) {
  const std::vector<LossyVariable> variables{{10, 1e-320}, {10, 2.0}};
  const std::vector<double> bounds = error_bounds(variables, 1e-2);
  EXPECT_GT(bounds[0], 1e300);
  EXPECT_NEAR(bounds[1], 2.5e-3, 1e-12);
}

TEST(ErrorBudget, a_probe_at_two_bounds_tells_whether_it_is_linear) {
  EXPECT_DOUBLE_EQ(*sensitivity_of({1e-3, 2e-3}, {1e-2, 3e-2}), 3);
  EXPECT_DOUBLE_EQ(*sensitivity_of({1e-3, 0}, {1e-2, 0}), 0);
  EXPECT_FALSE(sensitivity_of({1e-3, 1e-6}, {1e-2, 1e-4}));
  EXPECT_FALSE(sensitivity_of({1e-3, 0}, {1e-2, 1e-4}));
}

Errc code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

TEST(ErrorBudget, what_makes_no_sense_is_refused) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double target : {0.0, -1.0, nan, infinity})
    EXPECT_EQ(code_of([&] { error_bounds({}, target); }), Errc::einval) << target;
  const std::vector<LossyVariable> wrong{{-1, 1.0},     {1, -1.0},      {1, nan},
                                         {1, infinity}, {1, 1.0, -1.0}, {1, 1.0, nan}};
  for (const LossyVariable& v : wrong)
    EXPECT_EQ(code_of([&] { error_bounds({&v, 1}, 1); }), Errc::einval);
  EXPECT_EQ(code_of([] { sensitivity_of({0, 1}, {1, 1}); }), Errc::einval);
  EXPECT_EQ(code_of([&] { sensitivity_of({1, nan}, {1, 1}); }), Errc::einval);
}

}  // namespace error_budget_test
}  // namespace forebay
