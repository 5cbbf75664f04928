#include "plan/windows.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::vector<Count> visited(const TouchedWindows& t) {
  std::vector<Count> w;
  t.for_each([&](Count i) { w.push_back(i); });
  return w;
}

TEST(WindowGrid, covers_the_range_with_aligned_windows) {
  const auto g = WindowGrid::over(1000, 9000, 4096, 3);
  EXPECT_EQ(g.first, 0);
  EXPECT_EQ(g.count, 3);
  EXPECT_EQ(WindowGrid::over(4096, 8192, 4096, 1).count, 1);
  EXPECT_EQ(WindowGrid::over(5, 5, 4096, 1).count, 0);
}

TEST(WindowGrid, neighbouring_windows_belong_to_different_homes) {
  const auto g = WindowGrid::over(0, 1 << 20, 4096, 3);
  for (Count w = 0; w + 1 < g.count; ++w) EXPECT_NE(g.home_of(w), g.home_of(w + 1));
}

TEST(WindowGrid, delegates_of_one_home_take_turns) {
  const auto g = WindowGrid::over(0, 1 << 20, 4096, 2);
  EXPECT_EQ(g.delegate_of(0, 4), 0);
  EXPECT_EQ(g.delegate_of(2, 4), 1);
  EXPECT_EQ(g.delegate_of(8, 4), 0);
}

TEST(TouchedWindows, only_marked_windows_are_visited) {
  const auto g = WindowGrid::over(4096, 4096 * 100, 4096, 1);
  TouchedWindows t(g);
  t.mark(4096 * 7, 4096 * 7 + 1);
  t.mark(4096 * 98 - 1, 4096 * 98 + 1);
  EXPECT_EQ(visited(t), (std::vector<Count>{7, 97, 98}));
}

// A petabyte in 4 MiB windows: the map stays small, and a touched window is always among the
// visited ones.
TEST(TouchedWindows, map_of_a_huge_file_is_small_and_loses_nothing) {
  const Count size = 4 << 20;
  const auto g = WindowGrid::over(0, Offset{1} << 50, size, 5);
  TouchedWindows t(g);
  EXPECT_LE(t.words().size_bytes(), 8200U);
  const Offset far = (Offset{1} << 49) + 12345;
  t.mark(far, far + 10);
  bool found = false;
  for (Count w : visited(t)) found = found || w == far / size;
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace forebay
