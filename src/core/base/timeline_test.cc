#include "base/timeline.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/report.h"

namespace forebay {
namespace timeline_test {

using std::chrono::milliseconds;

TEST(Timeline, few_spans_stay_as_they_are) {
  Timeline timeline(Timeline::least_limit);
  timeline.add({0.1, 0.2, 0.1, 100, 1, Step::write});
  timeline.add({0.2001, 0.4, 0.2, 50, 1, Step::write});
  timeline.add({0.3, 0.4, 0.1, 0, 1, Step::plan});
  ASSERT_EQ(timeline.spans().size(), 3U);
  EXPECT_EQ(timeline.spans()[1].bytes, 50);
  EXPECT_EQ(timeline.spans()[2].step, Step::plan);
}

// Two steps alternate, with a long pause in the middle.
TEST(Timeline, many_spans_are_joined_over_the_shortest_gaps) {
  Timeline timeline(64);
  constexpr int turns = 10000;
  double busy[2] = {0, 0}, at = 0;
  for (int i = 0; i < turns; ++i) {
    if (i == turns / 2) at += 1000;
    for (const Step step : {Step::pack, Step::write}) {
      timeline.add({at, at + 0.01, 0.01, 8, 1, step});
      busy[step == Step::write] += 0.01;
      at += 0.01;
    }
  }
  EXPECT_LE(timeline.spans().size(), 64U);
  EXPECT_GE(timeline.spans().size(), 4U);
  double found[2] = {0, 0};
  std::int64_t bytes = 0, times = 0;
  for (const TimeSpan& span : timeline.spans()) {
    found[span.step == Step::write] += span.busy;
    bytes += span.bytes;
    times += span.times;
    EXPECT_LE(span.busy, span.end - span.begin + 1e-9);
    EXPECT_TRUE(span.end < 101 || span.begin > 1099) << "the pause is still a pause";
  }
  EXPECT_NEAR(found[0], busy[0], 1e-6);
  EXPECT_NEAR(found[1], busy[1], 1e-6);
  EXPECT_EQ(bytes, 2 * turns * 8);
  EXPECT_EQ(times, 2 * turns);
}

TEST(Timeline, the_limit_holds_whatever_comes) {
  std::mt19937 random(7);
  for (const std::size_t limit : {Timeline::least_limit, std::size_t{33}, std::size_t{512}}) {
    Timeline timeline(limit);
    double at = 0;
    for (int i = 0; i < 5000; ++i) {
      const double length = 1e-9 * static_cast<double>(random() % 1000000000);
      const auto step = static_cast<Step>(random() % step_count);
      timeline.add({at, at + length, length, 1, 1, step});
      at += length * static_cast<double>(random() % 100);
      ASSERT_LE(timeline.spans().size(), limit);
    }
    double last = -1;
    for (const TimeSpan& span : timeline.spans()) {
      EXPECT_LE(span.begin, span.end);
      last = std::max(last, span.end);
    }
    EXPECT_GT(last, 0);
  }
}

TEST(StepTimer, notes_when_a_step_took_place_and_what_it_moved) {
  Report report;
  report.timeline = std::make_shared<Timeline>(64);
  report[Counter::bytes_written] = 7;
  {
    StepTimer timer(report, Step::write);
    report[Counter::bytes_written] += 100;
    std::this_thread::sleep_for(milliseconds(2));
  }
  {
    StepTimer timer(report, Step::write);
    timer.moved(33);
  }
  ASSERT_EQ(report.timeline->spans().size(), 2U);
  const TimeSpan &first = report.timeline->spans()[0], &second = report.timeline->spans()[1];
  EXPECT_GE(first.begin, 0);
  EXPECT_GE(first.end, first.begin + 0.002);
  EXPECT_EQ(first.bytes, 100);
  EXPECT_EQ(second.bytes, 33);
  EXPECT_GE(second.begin, first.end);
  EXPECT_NEAR(report[Step::write], first.busy + second.busy, 1e-9);
}

TEST(StepTimer, an_outer_step_is_not_busy_while_inner_ones_are) {
  Report report;
  report.timeline = std::make_shared<Timeline>(64);
  {
    StepTimer outer(report, Step::sync);
    for (int i = 0; i < 2; ++i) {
      StepTimer inner(report, Step::write);
      StepTimer innermost(report, Step::wait);
      std::this_thread::sleep_for(milliseconds(3));
    }
  }
  double busy = 0;
  for (const TimeSpan& span : report.timeline->spans()) busy += span.busy;
  EXPECT_NEAR(busy, report[Step::sync], 1e-6);
  const TimeSpan outer = report.timeline->spans().back();
  EXPECT_EQ(outer.step, Step::sync);
  EXPECT_GE(outer.end - outer.begin, 0.006);
  EXPECT_LT(outer.busy, 0.003);
}

TEST(StepTimer, without_a_timeline_only_seconds_are_added) {
  Report report;
  { StepTimer timer(report, Step::read); }
  EXPECT_GT(report[Step::read], 0);
  EXPECT_EQ(report.timeline, nullptr);
}

}  // namespace timeline_test
}  // namespace forebay
