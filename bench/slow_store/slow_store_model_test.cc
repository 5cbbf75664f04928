#include "slow_store/slow_store_model.h"

#include <gtest/gtest.h>

#include <memory>

namespace forebay::bench {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kMiB = 1 << 20;

class SlowStoreModel : public testing::Test {
 protected:
  SlowStoreModel() : state_(std::make_unique<SlowStoreState>()) { attach_state(*state_); }

  std::int64_t write(std::int64_t now, std::int64_t process, std::int64_t offset,
                     std::int64_t bytes) {
    return book_call(*state_, parameters_, {now, process, 7, offset, bytes, true});
  }
  std::int64_t read(std::int64_t now, std::int64_t process, std::int64_t offset,
                    std::int64_t bytes) {
    return book_call(*state_, parameters_, {now, process, 7, offset, bytes, false});
  }

  std::unique_ptr<SlowStoreState> state_;
  SlowStoreParameters parameters_;
};

TEST_F(SlowStoreModel, calls_of_different_processes_wait_for_latency_together) {
  parameters_.latency_ns = 2 * kMs;
  EXPECT_EQ(write(0, 1, 0, 100), 2 * kMs);
  EXPECT_EQ(write(0, 2, 8 * kMiB, 100), 2 * kMs);
}

TEST_F(SlowStoreModel, processes_share_the_bandwidth) {
  parameters_.bytes_per_second = 1000.0 * kMiB;  // a millisecond a MiB
  EXPECT_EQ(write(0, 1, 0, kMiB), kMs);
  EXPECT_EQ(write(0, 2, 8 * kMiB, kMiB), 2 * kMs);
  EXPECT_EQ(read(0, 3, 16 * kMiB, kMiB), 3 * kMs);
  EXPECT_EQ(write(10 * kMs, 1, 0, kMiB), 11 * kMs) << "an idle store saves nothing up";
}

TEST_F(SlowStoreModel, stripes_of_one_server_get_its_share_only) {
  parameters_.bytes_per_second = 1000.0 * kMiB;
  parameters_.servers = 4;
  EXPECT_EQ(write(0, 1, 0, 4 * kMiB), 4 * kMs) << "all servers at once";
  EXPECT_EQ(write(100 * kMs, 1, 8 * kMiB, kMiB), 104 * kMs) << "one of four";
  EXPECT_EQ(write(100 * kMs, 2, 12 * kMiB, kMiB), 108 * kMs) << "the same one";
  EXPECT_EQ(write(100 * kMs, 3, 13 * kMiB, kMiB), 104 * kMs) << "its neighbour";
}

TEST_F(SlowStoreModel, files_of_one_server_get_its_share_and_have_it_alone) {
  parameters_.bytes_per_second = 1000.0 * kMiB;
  parameters_.servers = 4;
  parameters_.one_server_files = true;
  const auto write_to = [&](std::uint64_t file, std::int64_t process) {
    return book_call(*state_, parameters_, {0, process, file, 0, 4 * kMiB, true});
  };
  for (const std::uint64_t file : {70, 7, 77, 777})
    EXPECT_EQ(write_to(file, 1), 16 * kMs) << "each on another server";
  EXPECT_EQ(write_to(7777, 2), 32 * kMs) << "on the first one's";
  EXPECT_EQ(write_to(7, 2), 32 * kMs) << "where it was";
}

TEST_F(SlowStoreModel, who_takes_a_stripe_over_waits_for_its_writer_and_the_switch) {
  parameters_.latency_ns = kMs;
  parameters_.switch_ns = 10 * kMs;
  EXPECT_EQ(write(0, 1, 0, 100), kMs) << "the first writer gets it for nothing";
  EXPECT_EQ(write(0, 2, 100, 100), kMs + 10 * kMs + kMs);
  EXPECT_EQ(write(0, 3, 200, 100), 12 * kMs + 10 * kMs + kMs) << "one after the other";
  EXPECT_EQ(write(30 * kMs, 3, 300, 100), 31 * kMs) << "its holder pays nothing";
  EXPECT_EQ(read(30 * kMs, 4, 0, 100), 31 * kMs) << "reads take no locks";
  EXPECT_EQ(state_->counters.switches, 2U);
  EXPECT_EQ(state_->counters.writes, 4U);
  EXPECT_EQ(state_->counters.written, 400U);
  EXPECT_EQ(state_->counters.reads, 1U);
}

TEST_F(SlowStoreModel, a_call_over_several_stripes_takes_each_over) {
  parameters_.switch_ns = 10 * kMs;
  EXPECT_EQ(write(0, 1, 0, 3 * kMiB), 0);
  EXPECT_EQ(write(0, 2, kMiB / 2, 3 * kMiB), 30 * kMs) << "the fourth stripe had no writer";
}

}  // namespace
}  // namespace forebay::bench
