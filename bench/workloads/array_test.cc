#include "workloads/array.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>

#include "workloads/arrays_checkerboard.h"
#include "workloads/arrays_field.h"
#include "workloads/arrays_flash.h"
#include "workloads/arrays_pandana.h"

namespace forebay::bench {
namespace {

using Grid = CheckerboardOptions::Grid;

// How often the boxes hold each element of an array of `shape`.
std::vector<int> coverage(const std::vector<Box>& boxes, const std::vector<MPI_Offset>& shape) {
  MPI_Offset elements = 1;
  for (MPI_Offset length : shape) elements *= length;
  std::vector<int> times(static_cast<std::size_t>(elements), 0);
  for (const Box& box : boxes) {
    std::vector<char> unused(static_cast<std::size_t>(box.elements()));
    visit_rows(box, unused.data(), [&](const auto& at, char*, MPI_Offset n) {
      MPI_Offset offset = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + at[d];
      for (MPI_Offset k = 0; k < n; ++k) ++times[static_cast<std::size_t>(offset + k)];
    });
  }
  return times;
}

bool all_once(const std::vector<int>& times) {
  for (int t : times) {
    if (t != 1) return false;
  }
  return true;
}

void expect_cover(const ArrayPattern& pattern, int ranks) {
  for (std::size_t v = 0; v < pattern.variables().size(); ++v) {
    const ArrayVariable& variable = pattern.variables()[v];
    std::vector<Box> blocks;
    blocks.reserve(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) blocks.push_back(pattern.block(v, r));
    EXPECT_TRUE(all_once(coverage(blocks, variable.shape))) << variable.name << ", blocks";
    EXPECT_TRUE(all_once(coverage(variable.chunks(), variable.shape))) << variable.name;
  }
}

// Values must not depend on how an array is cut.
void expect_same_values_in_chunks_and_whole(const ArrayPattern& pattern) {
  for (std::size_t v = 0; v < pattern.variables().size(); ++v) {
    const ArrayVariable& variable = pattern.variables()[v];
    const std::size_t width = size_of(variable.type);
    const Box whole{std::vector<MPI_Offset>(variable.shape.size(), 0), variable.shape};
    std::vector<std::byte> all(static_cast<std::size_t>(whole.elements()) * width);
    pattern.fill(v, whole, all.data());
    for (const Box& box : variable.chunks()) {
      std::vector<std::byte> part(static_cast<std::size_t>(box.elements()) * width);
      pattern.fill(v, box, part.data());
      visit_rows(box, reinterpret_cast<const char*>(part.data()),
                 [&](const auto& at, const char* /*row*/, MPI_Offset n) {
                   MPI_Offset from = 0, in_box = 0;
                   for (std::size_t d = 0; d < at.size(); ++d) {
                     from = from * variable.shape[d] + at[d];
                     in_box = in_box * box.count[d] + at[d] - box.start[d];
                   }
                   ASSERT_EQ(std::memcmp(all.data() + static_cast<std::size_t>(from) * width,
                                         part.data() + static_cast<std::size_t>(in_box) * width,
                                         static_cast<std::size_t>(n) * width),
                             0)
                       << variable.name;
                 });
    }
  }
}

TEST(Arrays, pieces_are_counted_over_whole_faster_dimensions) {
  const std::vector<MPI_Offset> shape{4, 5, 6};
  EXPECT_EQ(pieces_of({{0, 0, 0}, {4, 5, 6}}, shape), 1);
  EXPECT_EQ(pieces_of({{1, 0, 0}, {2, 5, 6}}, shape), 1);
  EXPECT_EQ(pieces_of({{0, 1, 0}, {4, 2, 6}}, shape), 4);
  EXPECT_EQ(pieces_of({{0, 1, 2}, {4, 2, 3}}, shape), 8);
  EXPECT_EQ(pieces_of({{0, 1, 2}, {4, 0, 3}}, shape), 0);
}

TEST(Checkerboard, blocks_and_chunks_cover_the_variable_for_any_ranks) {
  for (Grid grid : {Grid::Aligned, Grid::Shared, Grid::D5}) {
    for (int ranks : {1, 2, 3, 4, 6, 7, 16}) {
      const CheckerboardPattern pattern(
          {.bytes = 40000, .chunk_bytes = 900, .grid = grid, .real = nullptr}, ranks);
      expect_cover(pattern, ranks);
      expect_same_values_in_chunks_and_whole(pattern);
    }
  }
}

TEST(Checkerboard, chunks_lie_on_blocks_as_asked_for) {
  const auto variable = [](Grid grid) {
    return CheckerboardPattern(
               {.bytes = 64 << 20, .chunk_bytes = 1 << 20, .grid = grid, .real = nullptr}, 4)
        .variables()[0];
  };
  EXPECT_EQ(variable(Grid::Aligned).shape, (std::vector<MPI_Offset>{4096, 4096}));
  EXPECT_EQ(variable(Grid::Aligned).chunk, (std::vector<MPI_Offset>{512, 512}));
  EXPECT_EQ(variable(Grid::Shared).chunk, (std::vector<MPI_Offset>{456, 456}));
  EXPECT_EQ(variable(Grid::D5).chunk, (std::vector<MPI_Offset>{4096, 4096}));
}

TEST(Checkerboard, the_share_of_random_elements_is_kept) {
  for (bool scattered : {false, true}) {
    for (int percent : {0, 10, 50, 100}) {
      CheckerboardOptions options{.bytes = 1 << 20, .chunk_bytes = 1 << 18, .real = nullptr};
      options.random_percent = percent;
      options.scattered = scattered;
      options.grid = Grid::Aligned;
      const CheckerboardPattern pattern(options, 1);
      const ArrayVariable& x = pattern.variables()[0];
      std::vector<std::uint32_t> values(static_cast<std::size_t>(x.elements()));
      pattern.fill(0, {{0, 0}, x.shape}, reinterpret_cast<std::byte*>(values.data()));
      std::map<bool, int> count;
      for (std::uint32_t value : values) ++count[value != 0];
      EXPECT_NEAR(100.0 * count[true] / static_cast<double>(values.size()), percent, 1.0);
    }
  }
}

TEST(Flash, blocks_and_chunks_cover_the_variables) {
  for (int ranks : {1, 3, 4, 16}) {
    const FlashPattern pattern({.bytes = 9 * 13 * 16384, .real = nullptr}, ranks);
    EXPECT_EQ(pattern.variables().size(), 9U);
    expect_cover(pattern, ranks);
    expect_same_values_in_chunks_and_whole(pattern);
  }
}

TEST(Field, repeats_its_numbers_and_counts_those_beyond_the_bound) {
  const std::string file = ::testing::TempDir() + "forebay_bench_field";
  std::vector<double> numbers(2 * 3 * 5);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), std::ssize(numbers) * 8);
  const FieldOptions options{.file = file, .shape = {2, 3, 5}, .edge = 9, .chunk_edge = 4};
  for (const int ranks : {1, 4, 11}) {
    const FieldPattern pattern(options, ranks);
    expect_cover(pattern, ranks);
    expect_same_values_in_chunks_and_whole(pattern);
  }
  const FieldPattern pattern(options, 1);
  std::vector<double> all(9 * 9 * 9);
  pattern.fill(0, pattern.block(0, 0), reinterpret_cast<std::byte*>(all.data()));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], numbers[(i / 81 % 2 * 3 + i / 9 % 9 % 3) * 5 + i % 9 % 5]) << i;
  auto other = all;
  other[3] += 0.25;
  other[70] -= 0.5;
  other[700] = std::numeric_limits<double>::quiet_NaN();
  const auto beyond = [&](double bound) {
    return count_beyond(std::as_bytes(std::span(all)), std::as_bytes(std::span(other)),
                        Element::Double, bound);
  };
  EXPECT_EQ(beyond(0), 3);
  EXPECT_EQ(beyond(0.25), 2);
  EXPECT_EQ(beyond(0.5), 1);
  EXPECT_THROW(FieldPattern({.file = file, .shape = {2, 3, 6}}, 1), std::runtime_error);
  std::filesystem::remove(file);
}

TEST(Pandana, there_are_108_variables_over_three_decades) {
  for (int ranks : {1, 3, 4, 16}) {
    const PandanaPattern pattern({.bytes = 300000, .chunk_bytes = 4096}, ranks);
    ASSERT_EQ(pattern.variables().size(), 108U);
    expect_cover(pattern, ranks);
    expect_same_values_in_chunks_and_whole(pattern);
  }
  const PandanaPattern full({}, 4);
  MPI_Offset bytes = 0, shortest = 1 << 30, longest = 0;
  for (const ArrayVariable& variable : full.variables()) {
    bytes += variable.elements() * static_cast<MPI_Offset>(size_of(variable.type));
    shortest = std::min(shortest, variable.elements());
    longest = std::max(longest, variable.elements());
  }
  EXPECT_NEAR(static_cast<double>(bytes), 68.0 * (1 << 20), 1e4);
  EXPECT_NEAR(static_cast<double>(longest) / static_cast<double>(shortest), 1000, 2);
}

TEST(RealField, neighbouring_tiles_are_different_planes) {
  const auto field = std::make_shared<const RealField>(
      "f:v", 2, 2, 3, std::vector<float>{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(field->tiled(1, 2), 5);
  EXPECT_EQ(field->tiled(1, 5), 15);
  EXPECT_EQ(field->tiled(3, 0), 13);
  const CheckerboardPattern pattern({.bytes = 4096, .chunk_bytes = 256, .real = field}, 4);
  expect_cover(pattern, 4);
  expect_same_values_in_chunks_and_whole(pattern);
  expect_same_values_in_chunks_and_whole(FlashPattern({.bytes = 9 * 5 * 16384, .real = field}, 2));
}

}  // namespace
}  // namespace forebay::bench
