#include "plan/bundle_windows.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "base/error.h"

namespace forebay {
namespace bundle_windows_test {

TEST(BundleWindows, every_window_has_a_place_of_its_own_in_the_order_of_its_file) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<BundleWindows::Range> files(1 + random() % 6);
    for (auto& f : files) {
      f.first = random() % 5000;
      f.last = f.first + random() % 3 * (random() % 200000);
    }
    const BundleWindows windows(files, 1 + random() % 700);
    std::set<Count> seen;
    for (std::size_t f = 0; f < files.size(); ++f) {
      Count before = -1;
      for (Count k = 0; k < windows.count_of(f); ++k) {
        const Count at = windows.position(f, k);
        ASSERT_GT(at, before);
        ASSERT_LT(at, windows.count());
        before = at;
        ASSERT_TRUE(seen.insert(at).second);
        ASSERT_EQ(windows.at(at).file, f);
        ASSERT_EQ(windows.at(at).window, k);
      }
    }
    ASSERT_EQ(static_cast<Count>(seen.size()), windows.count());
  }
}

TEST(BundleWindows, small_files_are_spread_over_a_large_one) {
  const std::vector<BundleWindows::Range> files{{0, 1000}, {0, 30}, {50, 60}};
  const BundleWindows windows(files, 10);
  EXPECT_EQ(windows.first_of(2), 5);
  EXPECT_EQ(windows.position(1, 0), 17);  // at a sixth of the sequence
  EXPECT_EQ(windows.position(1, 1), 51);
  EXPECT_EQ(windows.position(2, 0), 51 + 1);
}

TEST(BundleWindows, sizes_that_no_offset_can_tell_are_refused) {
  const Offset most = std::numeric_limits<Offset>::max() - 1;
  const std::vector<BundleWindows::Range> files{{0, most}, {0, most}};
  EXPECT_THROW(BundleWindows(files, 4096), Error);
  const std::vector<BundleWindows::Range> one{{most - 100, most}};
  const BundleWindows windows(one, 4096);
  EXPECT_EQ(windows.at(0).window, 0);
}

}  // namespace bundle_windows_test
}  // namespace forebay
