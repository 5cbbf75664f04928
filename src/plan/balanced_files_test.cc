#include "plan/balanced_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "plan/balanced_files_testing.h"

namespace forebay {
namespace {

constexpr Count most = std::numeric_limits<Count>::max();

TEST(FileOf, equal_patches_are_dealt_equally) {
  for (Count n = 0; n < 12; ++n) {
    EXPECT_EQ(file_of(n * 10, 10, 120, 4), n / 3);
    EXPECT_EQ(file_of(n * 10, 10, 120, 12), n);
  }
}

TEST(FileOf, the_middle_decides) {
  EXPECT_EQ(file_of(40, 19, 100, 2), 0);
  EXPECT_EQ(file_of(40, 20, 100, 2), 1);
  EXPECT_EQ(file_of(0, 100, 100, 3), 1);  // one patch has all
  EXPECT_EQ(file_of(100, 0, 100, 3), 2);  // none lies behind the last file
  EXPECT_EQ(file_of(0, 0, 0, 3), 0);
  EXPECT_EQ(file_of(most - 1, 1, most, Count{1} << 31), (Count{1} << 31) - 1);
}

std::vector<Count> random_sizes(std::mt19937& random, Count patches) {
  const auto below = [&](Count n) { return static_cast<Count>(random()) % n; };
  std::vector<Count> sizes;
  const Count decades = below(20);
  for (Count n = 0; n < patches; ++n)
    sizes.push_back(below(5) == 0 ? 0 : below((Count{1} << below(1 + decades)) + 1));
  return sizes;
}

TEST(BalancedFiles, no_file_exceeds_the_mean_by_more_than_the_largest_patch) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Count patches = 1 + static_cast<Count>(random() % 300);
    const Count files = 1 + static_cast<Count>(random() % 40);
    const auto sizes = random_sizes(random, patches);
    const auto file = by_middles(sizes, files);
    EXPECT_TRUE(std::is_sorted(file.begin(), file.end()));
    const auto bytes = file_sizes(sizes, file, files);
    const Count total = std::accumulate(sizes.begin(), sizes.end(), Count{0});
    const Count largest = *std::max_element(sizes.begin(), sizes.end());
    const Count fullest = *std::max_element(bytes.begin(), bytes.end());
    if (total > 0) {
      EXPECT_LE((fullest - largest) * files, total);
    }
    EXPECT_GE(fullest, least_largest_file(sizes, files));
  }
}

struct Imbalances {
  double ours, running, counts, optimum;
};
Imbalances imbalances(std::span<const Count> sizes, Count files) {
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), Count{0}));
  return {
      imbalance(sizes, by_middles(sizes, files), files),
      imbalance(sizes, by_running_average(sizes, files), files),
      imbalance(sizes, by_equal_counts(sizes, files), files),
      static_cast<double>(least_largest_file(sizes, files)) * static_cast<double>(files) / total};
}

// No rule gets below the optimum; ours stays within its bound, and does not fall behind H's.
void expect_balanced(std::span<const Count> sizes, Count files) {
  SCOPED_TRACE(files);
  const Imbalances found = imbalances(sizes, files);
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), Count{0}));
  const double largest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end())) *
                         static_cast<double>(files) / total;
  EXPECT_LE(found.optimum, found.ours);
  EXPECT_LE(found.ours, 1 + largest);
  EXPECT_LE(found.ours, found.running * 1.02);
  EXPECT_GE(found.counts, 1.5 * found.ours - 0.01);
}

// H fig. 8: the patches and the total of its table I, on 4,096 ranks; the field is ours.
TEST(BalancedFiles, of_a_flame) {
  const std::vector<Count> grid{64, 50, 13};
  for (Count files = 4096; files >= 512; files /= 2)
    expect_balanced(flame_sizes(grid, 786616672), files);
  Imbalances mean{0, 0, 0, 0};
  for (unsigned seed = 1; seed <= 21; seed += 4) {
    const Imbalances found = imbalances(flame_sizes(grid, 786616672, 1.5, seed), 512);
    EXPECT_LE(found.ours, 1.1);
    mean.ours += found.ours / 6, mean.running += found.running / 6;
    mean.counts += found.counts / 6, mean.optimum += found.optimum / 6;
  }
  EXPECT_NEAR(mean.ours, 1.07, 0.01);
  EXPECT_NEAR(mean.running, 1.08, 0.01);
  EXPECT_NEAR(mean.counts, 4.4, 0.3);
  EXPECT_NEAR(mean.optimum, 1.02, 0.005);
}

// H fig. 7: 4096³ in patches of 64³, on 32,768 ranks.
TEST(BalancedFiles, of_turbulence) {
  const auto sizes = turbulence_sizes({64, 64, 64}, 38989451056);
  for (const Count files : {32768, 8192, 4096, 512}) expect_balanced(sizes, files);
  const Imbalances few = imbalances(sizes, 512), many = imbalances(sizes, 32768);
  EXPECT_LE(few.ours, 1.01);
  EXPECT_LE(many.ours, 1.2);
  // The flame gains more.
  EXPECT_LE(few.counts, 2);
}

}  // namespace
}  // namespace forebay
