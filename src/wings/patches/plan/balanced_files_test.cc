#include "patches/plan/balanced_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "patches/plan/balanced_files_testing.h"

namespace forebay {
namespace balanced_files_test {

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
  EXPECT_EQ(file_of(0, 100, 100, 3), 1);  // one patch has all bytes
  EXPECT_EQ(file_of(100, 0, 100, 3), 2);  // no patch goes beyond the last file
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

TEST(BalancedFiles, ranks_that_know_their_own_sizes_come_to_the_same) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto sizes = random_sizes(random, 1 + static_cast<Count>(random() % 300));
    const int ranks = static_cast<int>(1 + random() % 20);
    const Count files = 1 + static_cast<Count>(random() % static_cast<unsigned>(ranks));
    const auto owner_of = [&](Count n) { return static_cast<Rank>(n * 7919 % ranks); };
    EXPECT_EQ(balance(sizes, files, ranks, owner_of, seed % 2 != 0), by_middles(sizes, files));
  }
}

TEST(BalancedFiles, sizes_of_several_variables_and_ranks_at_a_position_are_summed) {
  // Position 0: 10 at rank 0, 20 + 30 at rank 1; position 1: 40 at rank 1; position 3: 60.
  BalancedFiles first(1, 4, 3);
  Notes<PatchSize> told, more;
  first.tell(std::vector<PatchSize>{{3, 60}, {0, 10}}, told);
  first.tell(std::vector<PatchSize>{{0, 20}, {1, 40}, {0, 30}}, more);
  ASSERT_EQ(more.size(), 2U);
  EXPECT_EQ(more[0].what.bytes, 50);
  for (auto& note : more) note.peer = 1;
  first.hear(more);
  first.hear(told);
  EXPECT_EQ(first.bytes(), 160);
  Notes<PatchFile> out;
  first.answer(0, 160, out);
  ASSERT_EQ(out.size(), 4U);  // the two notes to rank 0, then those to rank 1, by position
  const std::vector<std::vector<Count>> expected{{0, 0, 0}, {0, 3, 2}, {1, 0, 0}, {1, 1, 1}};
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ((std::vector<Count>{out[i].peer, out[i].what.position, out[i].what.file}),
              expected[i]);
}

TEST(BalancedFiles, blocks_of_positions_are_in_order_and_equally_long) {
  for (const int ranks : {1, 3, 16}) {
    for (const Count positions : {1, 2, 16, 1000}) {
      std::vector<Count> at(static_cast<std::size_t>(ranks), 0);
      for (Count p = 0; p < positions; ++p)
        ++at[static_cast<std::size_t>(home_of_position(p, positions, ranks))];
      EXPECT_LE(*std::max_element(at.begin(), at.end()), positions / ranks + 1);
    }
  }
  EXPECT_EQ(home_of_position(most - 1, most, 1 << 24), (1 << 24) - 1);
}

TEST(BalancedFiles, what_cannot_be_is_refused) {
  EXPECT_THROW(BalancedFiles(0, 1, 1), Error);
  EXPECT_THROW(BalancedFiles(1, 1, 0), Error);
  BalancedFiles one(1, 2, 1);
  Notes<PatchSize> out;
  EXPECT_THROW(one.tell(std::vector<PatchSize>{{2, 1}}, out), Error);
  EXPECT_THROW(one.tell(std::vector<PatchSize>{{-1, 1}}, out), Error);
  EXPECT_THROW(one.tell(std::vector<PatchSize>{{0, -1}}, out), Error);
  EXPECT_THROW(one.tell(std::vector<PatchSize>{{0, most}, {0, 1}}, out), Error);
  one.hear(std::vector<PlanMessage<PatchSize>>{{0, {0, most}}});
  EXPECT_THROW(one.hear(std::vector<PlanMessage<PatchSize>>{{0, {1, 1}}}), Error);
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

// No rule can be better than the optimum. Ours stays within its bound, and is not worse than that
// of Fan et al.
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

// Fan et al. 2021, fig. 8: the patches and the total of their table I, on 4,096 ranks; the field is
// ours.
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

// Fan et al. 2021, fig. 7: 4096³ in patches of 64³, on 32,768 ranks.
TEST(BalancedFiles, of_turbulence) {
  const auto sizes = turbulence_sizes({64, 64, 64}, 38989451056);
  for (const Count files : {32768, 8192, 4096, 512}) expect_balanced(sizes, files);
  const Imbalances few = imbalances(sizes, 512), many = imbalances(sizes, 32768);
  EXPECT_LE(few.ours, 1.01);
  EXPECT_LE(many.ours, 1.2);
  // The flame gains more than turbulence.
  EXPECT_LE(few.counts, 2);
}

}  // namespace balanced_files_test
}  // namespace forebay
