#include "plan/chunk_read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace forebay {
namespace chunk_read_test {

constexpr Count mib = Count{1} << 20;
constexpr double inflate = 0.15, raw = 0.02;  // as from Pipeline::decode_work

// Every rank reads one chunk of its own, as in FLASH (Hou 2023, §5.5.2).
ReadFacts chunk_per_rank(int ranks) {
  return {.distinct_bytes = ranks * mib,
          .repeated_bytes = ranks * mib,
          .decode_work = inflate,
          .ranks = ranks,
          .busiest_owner_bytes = mib,
          .busiest_rank_bytes = mib};
}

// Every rank reads a part of each of `chunks` chunks.
ReadFacts all_share(int ranks, Count chunks) {
  return {.distinct_bytes = chunks * mib,
          .repeated_bytes = ranks * chunks * mib,
          .moved_bytes = chunks * mib * (ranks - 1) / ranks,
          .decode_work = inflate,
          .ranks = ranks,
          .busiest_owner_bytes = (chunks + ranks - 1) / ranks * mib,
          .busiest_rank_bytes = chunks * mib};
}

// The four ranks whose blocks it covers share each chunk of 256 MiB (Hou 2023, §5.5.1).
ReadFacts checkerboard(int ranks) {
  const Count chunk = 256 * mib;
  return {.distinct_bytes = ranks / 4 * chunk,
          .repeated_bytes = ranks * chunk,
          .moved_bytes = ranks / 4 * chunk * 3 / 4,
          .decode_work = inflate,
          .ranks = ranks,
          .busiest_owner_bytes = chunk,
          .busiest_rank_bytes = chunk};
}

TEST(ReadPlan, chunks_of_ones_own_are_read_by_everyone) {
  for (int ranks : {1, 4, 4096}) {
    EXPECT_EQ(choose_read_plan(chunk_per_rank(ranks)), ReadPlan::everyone);
  }
}

TEST(ReadPlan, chunks_that_all_ranks_touch_are_read_by_their_owners) {
  for (int ranks : {4, 16, 4096}) {
    EXPECT_EQ(choose_read_plan(all_share(ranks, 64)), ReadPlan::owners) << ranks;
  }
}

TEST(ReadPlan, one_chunk_that_all_read_is_decoded_by_all_where_nobody_else_needs_the_processors) {
  EXPECT_EQ(choose_read_plan(all_share(16, 1)), ReadPlan::everyone);
  ReadFacts crowded = all_share(16, 1);
  crowded.processors = 2;
  EXPECT_EQ(choose_read_plan(crowded), ReadPlan::owners);
}

// The paper: four ranks decode the same chunk in the time in which one would while three wait.
TEST(ReadPlan, the_papers_checkerboard_is_read_by_everyone_with_a_processor_a_rank) {
  EXPECT_EQ(choose_read_plan(checkerboard(4096)), ReadPlan::everyone);
}

TEST(ReadPlan, and_by_owners_where_ranks_share_processors) {
  ReadFacts facts = checkerboard(16);
  facts.processors = 2;
  EXPECT_EQ(choose_read_plan(facts), ReadPlan::owners);
}

TEST(ReadPlan, a_pattern_of_known_totals_alone_counts_as_spread_evenly) {
  ReadFacts facts = checkerboard(16);
  facts.busiest_owner_bytes = facts.busiest_rank_bytes = 0;
  EXPECT_EQ(choose_read_plan(facts), ReadPlan::owners);
}

TEST(ReadPlan, small_reads_do_not_pay_for_an_exchange) {
  ReadFacts facts = all_share(2, 1);
  facts.distinct_bytes = 4096;
  facts.repeated_bytes = 8192;
  facts.moved_bytes = 2048;
  facts.busiest_owner_bytes = facts.busiest_rank_bytes = 0;
  EXPECT_EQ(choose_read_plan(facts), ReadPlan::everyone);
}

TEST(ReadPlan, moving_can_cost_more_than_decoding_again) {
  // Raw chunks with two readers each; each rank reads nearly all of the chunks that it touches.
  ReadFacts facts{.distinct_bytes = 1000 * mib,
                  .repeated_bytes = 1100 * mib,
                  .moved_bytes = 900 * mib,
                  .decode_work = raw,
                  .ranks = 10};
  EXPECT_EQ(choose_read_plan(facts), ReadPlan::everyone);
  facts.decode_work = 10;  // a slow codec reverses the choice
  EXPECT_EQ(choose_read_plan(facts), ReadPlan::owners);
}

TEST(ReadPlan, more_work_never_takes_less_time) {
  const ReadFacts base = all_share(16, 10);
  ReadFacts more = base;
  more.distinct_bytes *= 2;
  EXPECT_GE(read_seconds(ReadPlan::owners, more), read_seconds(ReadPlan::owners, base));
  more = base;
  more.repeated_bytes *= 2;
  EXPECT_GT(read_seconds(ReadPlan::everyone, more), read_seconds(ReadPlan::everyone, base));
  more = base;
  more.moved_bytes *= 2;
  EXPECT_GT(read_seconds(ReadPlan::owners, more), read_seconds(ReadPlan::owners, base));
}

TEST(ReadPlan, nothing_to_read_and_huge_counts_are_harmless) {
  EXPECT_EQ(choose_read_plan({}), ReadPlan::everyone);
  constexpr Count huge = std::numeric_limits<Count>::max();
  ReadFacts facts{.distinct_bytes = huge,
                  .repeated_bytes = huge,
                  .moved_bytes = huge,
                  .decode_work = 1,
                  .ranks = 0};
  EXPECT_TRUE(std::isfinite(read_seconds(ReadPlan::owners, facts)));
  EXPECT_TRUE(std::isfinite(read_seconds(ReadPlan::everyone, facts)));
}

}  // namespace chunk_read_test
}  // namespace forebay
