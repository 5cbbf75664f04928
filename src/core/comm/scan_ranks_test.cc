#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"

namespace forebay {
namespace scan_ranks_test {

TEST(ScanRanks, sums_over_the_ranks_below_and_over_all) {
  for (const int ranks : {1, 2, 5}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
        std::vector<std::int64_t> values(n), totals(n);
        for (std::size_t i = 0; i < n; ++i)
          values[i] = (comm.rank() + 1) * static_cast<std::int64_t>(i + 1);
        comm.exclusive_scan(values, totals);
        for (std::size_t i = 0; i < n; ++i) {
          const auto unit = static_cast<std::int64_t>(i + 1);
          EXPECT_EQ(values[i], unit * comm.rank() * (comm.rank() + 1) / 2) << comm.rank();
          EXPECT_EQ(totals[i], unit * ranks * (ranks + 1) / 2) << comm.rank();
        }
      }
    });
  }
}

TEST(ScanRanks, an_error_that_one_rank_brings_is_thrown_on_all) {
  run_as_threads(3, [](const Comm& comm) {
    std::int64_t value = 1, total = 0;
    const auto failed = attempt_to([&] {
      comm.exclusive_scan(std::span(&value, 1), std::span(&total, 1),
                          comm.rank() == 1 ? Errc::eno_space : Errc::ok);
    });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::eno_space);
  });
}

}  // namespace scan_ranks_test
}  // namespace forebay
