#include "checkpoints/plan/adjoint_runs.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace forebay::simulation {
namespace adjoint_runs_test {

// The numbers of Revolve (Griewank and Walther 2000).
TEST(AdjointRuns, as_many_advances_as_revolve_has) {
  EXPECT_EQ(forecast_adjoint(10, 1, {3}).advances, 15);
  EXPECT_EQ(forecast_adjoint(100, 1, {3}).advances, 490);
  EXPECT_EQ(forecast_adjoint(100, 7, {20, 43}).advances, 245);
  EXPECT_EQ(forecast_adjoint(1000, 1, {10}).advances, 3636);
  const AdjointForecast priced = forecast_adjoint(100, 1, {100}, 10);
  EXPECT_LT(priced.tiers[0].writes, 25);  // of 100
  EXPECT_LT(priced.advances + 10 * priced.tiers[0].writes, 500);
}

TEST(AdjointRuns, tiers_hold_what_they_have_room_for) {
  const AdjointForecast runs = forecast_adjoint(60, 10, {25, 30, 1000});
  EXPECT_EQ(runs.advances, 59);
  EXPECT_EQ(runs.repeats, 1);
  Count writes = 0, states = 0;
  for (const AdjointTier& tier : runs.tiers) writes += tier.writes, states += tier.states;
  EXPECT_EQ(writes, states);  // each state is written once
  EXPECT_LE(runs.tiers[0].states, 2);
  EXPECT_LE(runs.tiers[1].states, 3);
  EXPECT_GT(runs.tiers[2].states, 50);
}

TEST(AdjointRuns, steps_that_run_often_are_not_counted_one_by_one) {
  const AdjointForecast runs = forecast_adjoint(1'000'000, 1, {1});
  EXPECT_EQ(runs.advances, 499'999'500'000);
  EXPECT_EQ(runs.repeats, 999'999);
}

TEST(AdjointRuns, what_makes_no_sense_is_refused) {
  EXPECT_THROW(forecast_adjoint(0, 1, {3}), Error);
  EXPECT_THROW(forecast_adjoint(2'000'000, 1, {3}), Error);
  EXPECT_THROW(forecast_adjoint(5, 4, {3}), Error);
}

}  // namespace adjoint_runs_test
}  // namespace forebay::simulation
