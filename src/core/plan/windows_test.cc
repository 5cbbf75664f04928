#include "plan/windows.h"

#include <gtest/gtest.h>

namespace forebay {
namespace windows_test {

std::vector<Count> marked(const TouchedWindows& t, const WindowGrid& part) {
  std::vector<Count> w;
  for (Count i = 0; i < part.count; ++i)
    if (TouchedWindows::is_marked(t.words(), i)) w.push_back(part.first + i);
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

TEST(TouchedWindows, only_windows_of_the_part_are_marked) {
  const auto g = WindowGrid::over(4096, 4096 * 100, 4096, 1);
  TouchedWindows t(g);
  t.mark(4096 * 7, 4096 * 7 + 1);
  t.mark(4096 * 98 - 1, 4096 * 98 + 1);
  EXPECT_EQ(marked(t, g), (std::vector<Count>{7, 97, 98}));
  WindowGrid part = g;
  part.first = 50;
  part.count = 20;
  TouchedWindows few(part);
  few.mark(0, 4096 * 50);
  few.mark(4096 * 70, 4096 * 71);
  EXPECT_TRUE(marked(few, part).empty());
  few.mark(4096 * 40, 4096 * 52);
  few.mark(4096 * 69, 4096 * 99);
  EXPECT_EQ(marked(few, part), (std::vector<Count>{50, 51, 69}));
}

// A petabyte in 4 MiB windows.
TEST(TouchedWindows, parts_of_a_huge_file_are_small_and_cover_it) {
  const Count size = 4 << 20;
  const auto g = WindowGrid::over(4096, Offset{1} << 50, size, 5);
  const auto first = g.part_from(4096);
  EXPECT_EQ(first.first, 0);
  EXPECT_LE(TouchedWindows(first).words().size_bytes(), 1024U);
  EXPECT_EQ(g.part_from(first.end()).first, first.first + first.count);
  const auto last = g.part_from((Offset{1} << 50) - 1);
  EXPECT_EQ(last.count, 1);
  EXPECT_EQ(last.end(), g.end());
}

}  // namespace windows_test
}  // namespace forebay
