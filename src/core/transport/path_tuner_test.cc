#include "transport/path_tuner.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace path_tuner_test {

TEST(PathTuner, is_found_by_two_tries_through_windows_and_a_direct_one) {
  for (const double direct : {0.5, 0.9, 2.0}) {
    PathTuner way;
    for (const double seconds : {4.0, 1.0}) {  // the first pays for memory
      EXPECT_FALSE(way.tries_directly());
      way.note(false, seconds, 1e6);
      EXPECT_FALSE(way.is_known());
      EXPECT_FALSE(way.is_direct());
    }
    EXPECT_TRUE(way.tries_directly());
    EXPECT_DOUBLE_EQ(way.expected(2e6), 2.0);
    way.note(true, direct, 1e6);
    EXPECT_EQ(way.is_direct(), direct == 0.5) << direct;  // a little quicker is not worth it
    EXPECT_EQ(way.is_known(), direct != 0.5) << direct;
    EXPECT_DOUBLE_EQ(way.bytes_per_second(false), 1e6);
    EXPECT_DOUBLE_EQ(way.bytes_per_second(true), 1e6 / direct);
  }
}

TEST(PathTuner, is_direct_only_if_windows_that_are_tried_again_do_not_catch_up) {
  for (const double again : {2.0, 1.0, 0.5}) {
    PathTuner way;
    for (const bool directly : {false, false, true}) way.note(directly, directly ? 0.5 : 1, 1e6);
    EXPECT_FALSE(way.tries_directly());
    way.note(false, again, 1e6);
    EXPECT_TRUE(way.is_known());
    EXPECT_EQ(way.is_direct(), again != 0.5) << again;
  }
}

TEST(PathTuner, is_windows_where_the_direct_try_took_too_long) {
  PathTuner way;
  way.note(false, 1, 1e6);
  way.note(false, 1, 1e6);
  way.give_up_directly();
  EXPECT_TRUE(way.is_known());
  EXPECT_FALSE(way.is_direct());
  EXPECT_FALSE(way.was_tried(true));
}

PathTuner found_direct() {
  PathTuner way;
  for (const bool directly : {false, false, true, false}) way.note(directly, directly ? 0.5 : 1, 1);
  return way;
}

/// Returns which of so many whole operations went directly, at these seconds a byte.
std::vector<int> direct_ones(PathTuner& way, int operations, double windows, double direct) {
  std::vector<int> found;
  for (int i = 0; i < operations; ++i) {
    const bool directly = way.next_is_direct(2);
    if (directly) found.push_back(i);
    way.note_whole(directly, directly ? direct : windows, 1);
  }
  return found;
}

TEST(PathTuner, is_put_right_by_whole_operations_where_tries_misled) {
  PathTuner way = found_direct();
  // Once a whole operation tries the other way, windows win. Then direct ones are tried again after
  // 2, 4 and 8 others.
  EXPECT_EQ(direct_ones(way, 20, 0.5, 0.6), (std::vector{0, 4, 9, 18}));
  EXPECT_FALSE(way.is_direct());
  EXPECT_DOUBLE_EQ(way.bytes_per_second(false), 2);
  // When windows become slow, the other way comes back, at the latest when it is tried again.
  direct_ones(way, 100, 3, 0.6);
  EXPECT_TRUE(way.is_direct());
}

TEST(PathTuner, seldom_tries_again_what_takes_much_longer) {
  PathTuner way = found_direct();
  EXPECT_EQ(direct_ones(way, 90, 1, 5), (std::vector{0}));
  EXPECT_EQ(direct_ones(way, 90, 1, 0.2).size(), 85u);  // quicker by now, as the 97th finds
  way = found_direct();
  way.give_up_directly();
  EXPECT_TRUE(direct_ones(way, 500, 1, 0.1).empty());
}

TEST(PathTuner, is_little_moved_by_an_operation_that_was_slow_by_chance) {
  PathTuner way = found_direct();
  direct_ones(way, 10, 1, 0.5);
  way.note_whole(true, 1, 1);
  EXPECT_TRUE(way.is_direct());
  EXPECT_DOUBLE_EQ(way.bytes_per_second(true), 1 / 0.625);
}

TEST(QuickerWays, are_those_of_sizes_and_directions_and_folders) {
  QuickerWays ways;
  EXPECT_EQ(ways.latest(), nullptr);
  EXPECT_EQ(&ways.of(0), &ways.of(511));
  EXPECT_NE(&ways.of(511), &ways.of(512));
  EXPECT_EQ(&ways.of(Count{1} << 60), &ways.of(Count{1} << 40));
  EXPECT_EQ(ways.latest(), &ways.of(Count{1} << 40));

  PathTunerCache known;
  const auto first = known.of_folder(1);
  EXPECT_EQ(known.of_folder(1), first);
  for (std::uint64_t folder = 2; folder < 20; ++folder) EXPECT_NE(known.of_folder(folder), first);
  EXPECT_NE(known.of_folder(1), first);  // forgotten, but whoever has it keeps it
}

}  // namespace path_tuner_test
}  // namespace forebay
