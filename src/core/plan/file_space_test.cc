#include "plan/file_space.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

namespace forebay {
namespace file_space_test {

TEST(FileSpace, may_be_asked_for_a_place_nearer_to_the_beginning_alone) {
  FileSpace space(0, {{0, 64}, {128, 160}, {192, 400}});
  EXPECT_EQ(space.allocate_below(32, 90), std::nullopt);
  EXPECT_EQ(space.allocate_below(40, 192), 64);
  EXPECT_EQ(space.allocate_below(32, 192), 160);
  EXPECT_EQ(space.allocate_below(24, 192), 104);
  EXPECT_EQ(space.allocate_below(8, 1000), std::nullopt);
  EXPECT_EQ(space.end(), 400);
}

TEST(FileSpace, looks_at_few_free_ranges_for_a_place_nearer_to_the_beginning) {
  // 100,000 free ranges that are large enough but too high; their sizes are equal, or all
  // different.
  for (const Count more : {Count{0}, FileSpace::unit}) {
    std::vector<FileSpace::Range> used;
    Offset at = 1000;
    for (Count i = 0; i < 100'000; ++i) {
      used.push_back({at, at + 8});
      at += 8 + 64 + i * more;
    }
    used.push_back({at, at + 8});
    FileSpace space(1000, used);
    const std::clock_t before = std::clock();
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(space.allocate_below(64, 1000), std::nullopt);
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 1);
    // A low range is found although there are many that are too high.
    space.release(1000, 8);
    EXPECT_EQ(space.allocate_below(64, 1080), 1000);
  }
}

TEST(FileSpace, AppendsInWholeUnits) {
  FileSpace space(100, {});
  EXPECT_EQ(space.allocate(1), 104);
  EXPECT_EQ(space.allocate(9), 112);
  EXPECT_EQ(space.end(), 128);
}

TEST(FileSpace, TakesTheSmallestHoleThatFits) {
  FileSpace space(0, {{0, 8}, {40, 48}, {64, 72}});
  EXPECT_EQ(space.free_bytes(), 32 + 16);
  EXPECT_EQ(space.allocate(16), 48);
  EXPECT_EQ(space.allocate(16), 8);
  EXPECT_EQ(space.allocate(32), 72);
}

TEST(FileSpace, NeighboursMergeAndTheEndGivesBack) {
  FileSpace space(0, {});
  const Offset a = space.allocate(16), b = space.allocate(16), c = space.allocate(16);
  space.release(a, 16);
  space.release(b, 16);
  EXPECT_EQ(space.free_bytes(), 32);
  EXPECT_EQ(space.allocate(32), a);
  space.release(a, 32);
  space.release(c, 16);
  EXPECT_EQ(space.end(), 0);
  EXPECT_EQ(space.free_bytes(), 0);
}

TEST(FileSpace, UsedRangesMayOverlapAndComeInAnyOrder) {
  FileSpace space(16, {{64, 80}, {0, 24}, {20, 40}, {72, 76}});
  EXPECT_EQ(space.end(), 80);
  EXPECT_EQ(space.free_bytes(), 24);
  EXPECT_EQ(space.allocate(24), 40);
}

TEST(FileSpace, SkippedSpaceIsNeverHandedOut) {
  FileSpace space(0, {});
  space.allocate(8);
  space.skip_to(1000);
  EXPECT_EQ(space.allocate(8), 1000);
}

TEST(FileSpace, NothingIsHandedOutTwice) {
  std::mt19937 random(7);
  FileSpace space(8, {});
  struct Piece {
    Offset at;
    Count bytes;
  };
  std::vector<Piece> held;
  for (int step = 0; step < 4000; ++step) {
    if (held.empty() || random() % 5 < 3) {
      const Count bytes = 1 + random() % 100;
      held.push_back({space.allocate(bytes), bytes});
    } else {
      const std::size_t i = random() % held.size();
      space.release(held[i].at, held[i].bytes);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    Count live = 0;
    for (const Piece& p : held) live += round_up(p.bytes, FileSpace::unit);
    ASSERT_EQ(live + space.free_bytes(), space.end() - 8) << "at step " << step;
  }
  std::sort(held.begin(), held.end(), [](auto& a, auto& b) { return a.at < b.at; });
  for (std::size_t i = 1; i < held.size(); ++i)
    ASSERT_LE(held[i - 1].at + held[i - 1].bytes, held[i].at);
}

}  // namespace file_space_test
}  // namespace forebay
