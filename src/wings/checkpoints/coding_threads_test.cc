#include "checkpoints/coding_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/error.h"

namespace forebay::checkpoint {
namespace team_test {

// With so many threads and so little work, some have not begun when the caller is done.
TEST(Team, all_is_done_once_whoever_comes_late) {
  Team team(24);
  for (std::size_t n = 0; n < 200; ++n) {
    std::vector<std::atomic<int>> done(n);
    std::vector<int> members(team.size());  // one thread at a time has a number
    team.share(n, 2, [&](std::size_t member, std::size_t first, std::size_t last) {
      ++members[member];
      for (std::size_t i = first; i < last; ++i) ++done[i];
    });
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(done[i], 1) << i << " of " << n;
    for (const int times : members) ASSERT_LE(times, 1);
  }
}

TEST(Team, an_error_of_any_member_is_told_once_all_are_done) {
  Team team(8);
  for (std::size_t failing = 0; failing < 8; ++failing) {
    std::atomic<int> done = 0;
    const auto work = [&](std::size_t member, std::size_t, std::size_t) {
      ++done;
      if (member == failing) throw Error(Errc::ewrite, "a member");
    };
    EXPECT_THROW(team.share(16, 2, work), Error);
    EXPECT_EQ(done, 8);
  }
}

}  // namespace team_test
}  // namespace forebay::checkpoint
