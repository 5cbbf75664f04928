#include "storage/store_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/file.h"

namespace forebay {
namespace store_times_test {

namespace fs = std::filesystem;

constexpr std::int64_t slow = 500'000, quick = 5'000;

TEST(StoreTimes, the_least_of_a_few_calls_counts) {
  CallTimes times;
  for (int i = 1; i < ByteFile::few_timed; ++i) {
    times.note(slow + i);
    EXPECT_TRUE(times.is_suspect());
    EXPECT_EQ(times.least(), CallTimes::unknown);
  }
  times.note(2 * slow);
  EXPECT_FALSE(times.is_suspect());
  EXPECT_EQ(times.least(), slow + 1);
  times.note(quick);
  EXPECT_EQ(times.least(), quick);
}

TEST(StoreTimes, one_quick_call_tells_that_a_store_is_not_slow) {
  CallTimes times;
  times.note(quick);
  EXPECT_FALSE(times.is_suspect());
  EXPECT_FALSE(is_slow(times.least()));
}

TEST(StoreTimes, files_of_a_folder_and_their_data_files_know_the_same) {
  const auto times = StoreTimes::of("/store_times/a.nc");
  EXPECT_EQ(times, StoreTimes::of("/store_times/b.nc"));
  EXPECT_EQ(times, StoreTimes::of("/store_times/a.nc.subfiles/3"));
  EXPECT_NE(times, StoreTimes::of("/store_times/sub/a.nc"));
  EXPECT_NE(times, StoreTimes::of("a.nc"));
}

/// It uses a folder of its own, so that other tests' files do not affect it.
class SettledTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    file_.create(true);
    file_.write_at(0, std::as_bytes(std::span(text_)));
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string found() {
    std::string all(2 * text_.size(), '?');
    all.resize(file_.read_at(0, std::as_writable_bytes(std::span(all))));
    return all;
  }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("forebay_settled_" + std::to_string(::getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string text_ = "0123456789";
  Report report_;
  File file_{(folder_ / "file").string(), true, 0, report_};
};

// The first call was slow by chance: others were quick, or turn out to be.
TEST_F(SettledTest, a_few_calls_more_tell_and_leave_the_file_as_it_is) {
  const auto times = StoreTimes::of(file_.path());
  const std::int64_t calls = report_[Counter::write_calls];
  file_.settle_latency(0, std::as_bytes(std::span(text_)).first(4));
  file_.settle_latency(0, std::ssize(text_));
  EXPECT_FALSE(times->writes.is_suspect());
  EXPECT_FALSE(times->reads.is_suspect());
  EXPECT_EQ(found(), text_);
  EXPECT_EQ(report_[Counter::write_calls], calls);
}

TEST_F(SettledTest, what_another_rank_has_found_out_counts) {
  file_.learn_latency(false, CallTimes::unknown);
  EXPECT_EQ(file_.least_latency(false), CallTimes::unknown);
  file_.learn_latency(false, slow);
  EXPECT_EQ(file_.least_latency(false), slow);
}

}  // namespace store_times_test
}  // namespace forebay
