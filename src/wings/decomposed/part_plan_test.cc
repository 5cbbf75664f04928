#include "decomposed/part_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {
namespace part_plan_test {

using Blob = SlabToEncode::Blob;

std::vector<Count> sizes(std::span<const SlabToEncode> slabs, int ranks, const PartLimits& limits) {
  std::vector<Count> elements;
  for (const PlannedPart& part : plan_parts(slabs, ranks, limits).parts)
    elements.push_back(part.elements);
  return elements;
}

SlabToEncode slab(Count width, std::vector<Count> elements) {
  SlabToEncode made{0, width, {}};
  for (std::size_t r = 0; r < elements.size(); ++r)
    made.blobs.push_back({static_cast<Rank>(r), elements[r]});
  return made;
}

TEST(PartPlan, parts_end_at_blob_borders_once_they_are_large_enough) {
  const PartLimits limits{100, 400, 1 << 20};
  EXPECT_EQ(sizes(std::vector{slab(1, {10, 20, 30})}, 3, limits), (std::vector<Count>{60}));
  EXPECT_EQ(sizes(std::vector{slab(1, {60, 60, 60, 60, 10})}, 5, limits),
            (std::vector<Count>{120, 120, 10}));
  EXPECT_EQ(sizes(std::vector{slab(4, {60, 60, 60})}, 3, limits), (std::vector<Count>{60, 60, 60}));
  // Together they would be too large.
  EXPECT_EQ(sizes(std::vector{slab(1, {90, 350})}, 2, limits), (std::vector<Count>{90, 350}));
}

TEST(PartPlan, a_blob_that_is_too_large_is_cut_evenly) {
  const PartLimits limits{100, 400, 1 << 20};
  EXPECT_EQ(sizes(std::vector{slab(1, {10, 450, 30})}, 3, limits),
            (std::vector<Count>{10, 90, 90, 90, 90, 90, 30}));
  // Elements are not cut, however small the limits are.
  EXPECT_EQ(sizes(std::vector{slab(8, {3})}, 1, {1, 1, 1}), (std::vector<Count>{1, 1, 1}));
  const Count huge = most_part_bytes;
  for (const Count n : sizes(std::vector{slab(8, {huge})}, 1, {huge * 8, huge * 8, huge}))
    EXPECT_LE(n * 8, most_part_bytes);
}

TEST(PartPlan, who_has_most_of_a_part_encodes_it_unless_that_is_too_much) {
  const PartLimits limits{100, 400, 1 << 20};
  const auto plan = plan_parts(std::vector{slab(1, {100, 100, 100, 100})}, 4, limits);
  ASSERT_EQ(plan.parts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(plan.parts[i].encoder, static_cast<Rank>(i));
  // Rank 1 has everything, and the others help.
  SlabToEncode all{0, 1, {{1, 8000}}};
  std::map<Rank, Count> load;
  for (const PlannedPart& part : plan_parts(std::span(&all, 1), 4, limits).parts)
    load[part.encoder] += part.bytes;
  ASSERT_EQ(load.size(), 4U);
  for (const auto& [rank, bytes] : load) EXPECT_NEAR(static_cast<double>(bytes), 2000, 100);
}

TEST(PartPlan, whatever_there_is_comes_once_within_the_limits) {
  std::mt19937 random(1);
  const auto any = [&](Count n) { return static_cast<Count>(random() % static_cast<unsigned>(n)); };
  for (int time = 0; time < 200; ++time) {
    const auto ranks = static_cast<int>(1 + any(7));
    const PartLimits limits{1 + any(300), 1 + any(900), 2 * (900 + any(4000))};
    std::vector<SlabToEncode> slabs;
    for (Count s = 0; s < 1 + any(20); ++s) {
      SlabToEncode& made = slabs.emplace_back(SlabToEncode{0, Count{1} << any(4), {}});
      for (Rank r = 0; r < ranks; ++r)
        if (any(3) > 0) made.blobs.push_back({r, 1 + any(500)});
    }
    const PartPlan plan = plan_parts(slabs, ranks, limits);
    // For each slab and rank, the elements so far.
    std::map<std::pair<std::size_t, Rank>, Count> at;
    std::size_t share = 0, in_rounds = 0;
    for (const PlannedPart& part : plan.parts) {
      const Count width = slabs[part.slab].width;
      EXPECT_EQ(part.bytes, part.elements * width);
      EXPECT_EQ(part.first_share, share);
      share += part.shares;
      Count elements = 0;
      for (const Share& s : plan.of(part)) {
        EXPECT_EQ(s.first, (at[{part.slab, s.rank}]));
        at[{part.slab, s.rank}] += s.elements;
        elements += s.elements;
      }
      EXPECT_EQ(part.elements, elements);
      EXPECT_TRUE(part.bytes <= std::max(limits.most, width) || part.shares == 1);
    }
    for (std::size_t s = 0; s < slabs.size(); ++s)
      for (const Blob& blob : slabs[s].blobs) EXPECT_EQ((at[{s, blob.rank}]), blob.elements);
    for (std::uint32_t r = 0; r < plan.rounds; ++r) {
      std::map<Rank, Count> encoded, sent;
      for (const PlannedPart& part : plan.round(r)) {
        encoded[part.encoder] += part.bytes;
        for (const Share& s : plan.of(part)) sent[s.rank] += s.elements * slabs[part.slab].width;
      }
      in_rounds += plan.round(r).size();
      if (plan.round(r).size() == 1) continue;
      for (const auto& [rank, bytes] : encoded) EXPECT_LE(bytes, limits.round_bytes);
      for (const auto& [rank, bytes] : sent) EXPECT_LE(bytes, limits.round_bytes);
    }
    EXPECT_EQ(in_rounds, plan.parts.size());
  }
}

}  // namespace part_plan_test
}  // namespace forebay::decomposed
