#include "plan/chunk_offers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/chunk_owners_testing.h"

namespace forebay {
namespace chunk_offers_test {

TEST(TakeOffers, a_rank_takes_its_own_chunks_up_to_its_share) {
  const WorkTotals totals{40, 10, 40, 2};
  Count load = -1;
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>(2, {10, 10}), totals, load),
            std::vector<bool>(2, true));
  EXPECT_EQ(load, 20);
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>(3, {10, 10}), totals, load),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(load, 20);
}

TEST(TakeOffers, what_it_touches_counts_against_a_little_more_than_its_share) {
  const WorkTotals totals{39, 10, 39, 2};  // the share is 20
  Count load = 0;
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>{{10, 10}, {9, 9}, {2, 4}}, totals, load),
            std::vector<bool>(3, true));  // exceeds it by 1, at a penalty of 4
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>{{10, 10}, {9, 9}, {2, 3}}, totals, load),
            (std::vector<bool>{true, true, false}));
}

TEST(TakeOffers, one_chunk_above_the_share_is_taken_and_no_second) {
  const WorkTotals totals{30, 10, 30, 100};
  Count load = 0;
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>(3, {10, 1}), totals, load),
            (std::vector<bool>{true, false, false}));
}

TEST(TakeOffers, chunks_without_work_are_taken) {
  Count load = 0;
  EXPECT_EQ(take_offers(std::vector<ChunkOffer>(3, {0, 1}), {0, 0, 3, 2}, load),
            std::vector<bool>(3, true));
  EXPECT_TRUE(take_offers({}, {0, 0, 0, 1}, load).empty());
}

TEST(Room, is_with_those_below_the_share) {
  const WorkTotals totals{40, 10, 40, 4};  // the share is 10
  const Room room(std::vector<Count>{20, 4, 12, 0}, totals);
  EXPECT_EQ(room.owner_at(0), 1);
  EXPECT_EQ(room.owner_at(5), 1);
  EXPECT_EQ(room.owner_at(6), 3);
  EXPECT_EQ(room.owner_at(15), 3);
  EXPECT_EQ(room.owner_at(16), 3);  // no work begins there
}

OwnerPattern random_pattern(std::mt19937& random, int ranks) {
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  OwnerPattern p;
  const Count touching = pick(1, ranks);  // few ranks may have all chunks
  for (Count k = pick(1, 60); k > 0; --k) {
    const Count bytes = pick(1, 100);
    for (Rank r = 0; r < touching; ++r) {
      if (pick(0, 2) == 0)
        p.accesses.push_back({static_cast<std::uint32_t>(p.chunks.size()), r, pick(1, bytes)});
    }
    p.add_chunk(0, bytes, static_cast<double>(pick(0, 100)));
  }
  return p;
}

TEST(Offers, no_rank_ends_above_the_share_and_one_chunk) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const int ranks = 1 + round % 20;
    const OwnerPattern p = random_pattern(random, ranks);
    const OwnerFacts facts = p.judge(by_offers(p.chunks, p.accesses, ranks), ranks);
    double largest = 0;
    for (const ChunkWork& c : p.chunks) largest = std::max(largest, c.work);
    EXPECT_LE(facts.busiest, facts.mean + largest + 1);
  }
}

TEST(Offers, hardly_more_moves_than_where_all_is_known) {
  for (const int ranks : {4, 16, 64}) {
    for (const double smallest : {5.0 * 1024, 100.0 * 1024}) {
      const OwnerPattern p = event_groups(ranks, smallest, 1);
      const OwnerFacts known = p.judge(p.owners(ranks), ranks);
      const OwnerFacts here = p.judge(by_offers(p.chunks, p.accesses, ranks), ranks);
      const auto touched = static_cast<double>(known.bytes_moved + known.bytes_local);
      EXPECT_LE(static_cast<double>(here.bytes_moved - known.bytes_moved), 0.1 * touched)
          << ranks << " ranks from " << smallest;
    }
  }
}

}  // namespace chunk_offers_test
}  // namespace forebay
