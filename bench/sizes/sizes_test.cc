#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "sizes/pipelines.h"
#include "sizes/size_grid.h"

namespace forebay::bench {
namespace {

SizeGrid linear_grid() {
  SizeGrid grid{{4, 2, 3}, {}, "a test"};
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x) grid.bytes.push_back(1000 + 100 * z + 10 * y + x);
  return grid;
}

TEST(SizeGrid, the_same_grid_gives_the_same_sizes) {
  const SizeGrid grid = linear_grid();
  for (Count z = 0; z < 4; ++z)
    for (Count x = 0; x < 3; ++x)
      EXPECT_DOUBLE_EQ(size_at(grid, grid.shape, {z, 1, x}), grid.at({z, 1, x}));
}

TEST(SizeGrid, between_middles_it_is_linear_and_beyond_them_constant) {
  const SizeGrid grid = linear_grid();
  EXPECT_DOUBLE_EQ(size_at(grid, {8, 2, 3}, {1, 0, 0}), 1025);
  EXPECT_DOUBLE_EQ(size_at(grid, {8, 2, 3}, {2, 0, 0}), 1075);
  EXPECT_DOUBLE_EQ(size_at(grid, {8, 2, 3}, {0, 0, 0}), 1000) << "beyond the first middle";
  EXPECT_DOUBLE_EQ(size_at(grid, {8, 2, 3}, {7, 1, 2}), 1312);
  EXPECT_DOUBLE_EQ(size_at(grid, {1, 1, 1}, {0, 0, 0}), 1156);
}

TEST(SizeGrid, is_what_was_printed_and_refuses_what_cannot_be) {
  const SizeGrid grid = linear_grid(), again = parse_size_grid(print(grid));
  EXPECT_EQ(again.shape, grid.shape);
  EXPECT_EQ(again.bytes, grid.bytes);
  for (const char* text :
       {"", "{}", R"({"format":"forebay sizes 1","grid":[2,1,1],"bytes":[1]})",
        R"({"format":"forebay sizes 1","grid":[1,1,1],"bytes":[-1]})",
        R"({"format":"forebay sizes 1","grid":[9999999999,9999999999,9999999999],"bytes":[]})"})
    EXPECT_THROW(parse_size_grid(text), std::invalid_argument) << text;
  EXPECT_EQ(parse_lengths("4x5x6"), (Lengths{4, 5, 6}));
  for (const char* text : {"", "4x5", "4x5x6x7", "0x1x1", "4x5x-6", "axbxc"})
    EXPECT_THROW(parse_lengths(text), std::invalid_argument) << text;
}

// One block in a corner has nearly all.
TEST(Pipelines, have_all_bytes_and_balance_what_they_can) {
  SizeGrid grid{{4, 4, 4}, std::vector<double>(64, 10), ""};
  grid.bytes[0] = 100000;
  const Load load = extrapolated(grid, {4, 4, 2}, {2, 2, 2}, 16, 1);
  const Count total = std::accumulate(load.bytes.begin(), load.bytes.end(), Count{0});
  EXPECT_EQ(std::ssize(load.bytes), 256);
  double counts = 0, bytes = 0;
  for (const Pipeline pipeline : all_pipelines) {
    const PipelinePlan plan = plan_of(pipeline, load, 8, 4);
    EXPECT_EQ(std::accumulate(plan.file_bytes.begin(), plan.file_bytes.end(), Count{0}), total)
        << name_of(pipeline);
    EXPECT_LE(plan.moved, total);
    const std::size_t files = pipeline == Pipeline::file_per_process ? 32
                              : pipeline == Pipeline::collective     ? 1
                                                                     : 8;
    EXPECT_EQ(plan.file_bytes.size(), files) << name_of(pipeline);
    if (pipeline == Pipeline::non_balanced) counts = plan.largest_over_mean;
    if (pipeline == Pipeline::balanced) bytes = plan.largest_over_mean;
    if (pipeline == Pipeline::file_per_process) EXPECT_EQ(plan.moved, 0);
    if (pipeline == Pipeline::group_collective) {
      EXPECT_EQ(plan.writers, (std::vector<std::int32_t>{0, 4, 8, 12, 16, 20, 24, 28}));
    }
  }
  EXPECT_GT(counts, 4);
  const Count largest = *std::max_element(load.bytes.begin(), load.bytes.end());
  EXPECT_LE(bytes, 1.01 + 8 * static_cast<double>(largest) / static_cast<double>(total));
}

}  // namespace
}  // namespace forebay::bench
