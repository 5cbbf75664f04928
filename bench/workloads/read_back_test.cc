#include "workloads/read_back.h"

#include <gtest/gtest.h>

#include <set>

#include "workloads/arrays_s3d.h"

namespace forebay::bench {
namespace {

TEST(ReadBack, parts_cover_a_box_once) {
  const std::vector<Box> boxes{{{3}, {10}}, {{0, 2, 1}, {2, 5, 7}}, {{4, 4}, {1, 2}}};
  for (const Box& box : boxes) {
    for (const int ranks : {1, 3, 4, 7, 11}) {
      std::multiset<std::vector<MPI_Offset>> seen;
      for (int rank = 0; rank < ranks; ++rank) {
        const Box part = part_of(box, rank, ranks);
        const std::vector<char> unused(static_cast<std::size_t>(part.elements()));
        visit_rows(part, unused.data(), [&](auto at, const char*, MPI_Offset n) {
          for (MPI_Offset k = 0; k < n; ++k, ++at.back()) seen.insert(at);
        });
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(box.elements()));
      EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), seen.size());
    }
  }
}

TEST(ReadBack, a_scalar_is_read_by_every_rank) { EXPECT_EQ(part_of({}, 2, 3).elements(), 1); }

TEST(ReadBack, random_boxes_lie_within_the_array) {
  const std::vector<MPI_Offset> shape{1, 2, 9};
  std::mt19937_64 random(5);
  for (int k = 0; k < 100; ++k) {
    const Box box = random_box(shape, random);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      EXPECT_GE(box.start[d], 0);
      EXPECT_GE(box.count[d], 1);
      EXPECT_LE(box.start[d] + box.count[d], shape[d]);
    }
  }
}

TEST(S3d, blocks_of_any_number_of_ranks_cover_every_variable_once) {
  for (const int ranks : {1, 2, 4, 7, 8, 12, 16, 27}) {
    const S3dPattern pattern({2}, ranks);
    for (std::size_t v = 0; v < pattern.variables().size(); ++v) {
      std::set<std::vector<MPI_Offset>> corners;
      MPI_Offset elements = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Box box = pattern.block(v, rank);
        corners.insert(box.start);
        elements += box.elements();
        for (std::size_t d = 0; d < box.start.size(); ++d) {
          EXPECT_LE(box.start[d] + box.count[d], pattern.variables()[v].shape[d]);
        }
      }
      EXPECT_EQ(corners.size(), static_cast<std::size_t>(ranks));
      EXPECT_EQ(elements, pattern.variables()[v].elements());
    }
  }
}

TEST(S3d, cubic_numbers_of_ranks_make_cubes) {
  EXPECT_EQ(S3dPattern({50}, 64).variables()[2].shape, (std::vector<MPI_Offset>{200, 200, 200}));
}

}  // namespace
}  // namespace forebay::bench
