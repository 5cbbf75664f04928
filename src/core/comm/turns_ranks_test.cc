#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/thread_ranks.h"
#include "comm/turns.h"

namespace forebay {
namespace turns_ranks_test {

constexpr int ranks = 5;

TEST(Turns, so_many_ranks_at_a_time_do_it_and_the_next_ones_wait_for_them) {
  for (const int at_a_time : {1, 2, 4, 5, 1 << 30}) {
    std::atomic<int> at_it = 0, most = 0, done = 0, early = 0;
    run_as_threads(ranks, [&](const Comm& comm) {
      in_turns(comm, at_a_time, [&] {
        const int now = ++at_it;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
        if (done < comm.rank() / at_a_time * at_a_time) ++early;
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        --at_it;
        ++done;
      });
      EXPECT_EQ(done, ranks);
    });
    EXPECT_LE(most, at_a_time);
    EXPECT_EQ(early, 0) << at_a_time;
  }
}

TEST(Turns, what_fails_on_one_rank_all_are_told_and_the_others_have_their_turn) {
  std::atomic<int> done = 0, told = 0;
  run_as_threads(ranks, [&](const Comm& comm) {
    try {
      in_turns(comm, 2, [&] {
        ++done;
        if (comm.rank() == 1) throw Error(Errc::eread, "it cannot be read");
      });
    } catch (const Error& error) {
      told += error.code() == Errc::eread;
    }
  });
  EXPECT_EQ(done, ranks);
  EXPECT_EQ(told, ranks);
}

}  // namespace turns_ranks_test
}  // namespace forebay
