// The bytes in a file, and when steps become visible, for each kind of sink.
#include "groups/process_group/step_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/journal_testing.h"

namespace forebay::process_group {
namespace step_sink_test {

namespace fs = std::filesystem;

/// One file, and the steps that became visible.
class Files final : public BpFiles {
 public:
  Files(const std::string& path, Report& report) : BpFiles(Comm(), path, {}, report) {
    data_ = new_file(path);
    data_->create(false);
  }
  bp::Form form() const override { return bp::Form::bp4; }
  File& metadata() override { return *data_; }
  Offset index_begin(Offset data_end) const override { return data_end; }
  void show(std::span<const bp::StepRecord> records) override {
    for (const bp::StepRecord& record : records) shown.push_back(record.step);
  }
  bool give_back() override { return true; }
  void sync() override {}
  void close(std::optional<Error>& /*failed*/) override {}

  std::vector<std::uint64_t> shown;
};

using Steps = std::vector<std::uint64_t>;

class StepSinkTest : public testing::Test {
 protected:
  ~StepSinkTest() override { fs::remove(path_); }

  /// Ends a step with two adjacent pieces and a separate one.
  static void write(StepSink& sink, Files& files, std::uint64_t step) {
    const std::vector<std::byte> bytes(8, std::byte{7});
    const std::vector<FilePiece> pieces{{0, bytes}, {8, bytes}, {24, bytes}};
    sink.begin_end();
    sink.write_last(files.data(), {LoggedPiece::data, 1, static_cast<std::int64_t>(step)}, pieces);
    sink.end_writes(std::nullopt);
    bp::StepRecord record;
    record.step = step;
    sink.show(record);
  }

  std::string path_ = testing::TempDir() + "forebay_sink_" + std::to_string(::getpid());
  Report report_;
};

TEST_F(StepSinkTest, a_direct_one_writes_pieces_that_touch_in_one_call_and_shows_at_once) {
  Files files(path_, report_);
  DirectSink sink(Comm(), files, report_);
  write(sink, files, 1);
  EXPECT_EQ(report_[Counter::write_calls], 2);
  EXPECT_EQ(files.data().size(), 32);
  EXPECT_EQ(files.shown, Steps{1});
}

TEST_F(StepSinkTest, a_queue_shows_a_step_when_the_next_one_ends) {
  Files files(path_, report_);
  QueueSink sink(Comm(), files, report_, 1 << 20);
  write(sink, files, 1);
  EXPECT_EQ(files.shown, Steps{});
  write(sink, files, 2);
  EXPECT_EQ(files.shown, Steps{1});
  EXPECT_FALSE(sink.close());
  EXPECT_EQ(files.shown, (Steps{1, 2}));
  EXPECT_EQ(files.data().size(), 32);
}

TEST_F(StepSinkTest, a_log_has_all_until_it_is_emptied) {
  journal::TestJournal<> kept;
  Files files(path_, report_);
  const StepLog::Limits limits{1 << 20};
  LogSink sink(Comm(), files, report_, std::make_unique<StepLog>(kept.writer(), limits, report_));
  write(sink, files, 1);
  write(sink, files, 2);
  EXPECT_EQ(files.shown, Steps{});
  EXPECT_EQ(files.data().size(), 0);
  sink.finish();
  EXPECT_EQ(files.shown, (Steps{1, 2}));
  EXPECT_EQ(files.data().size(), 32);
}

// Without space in the log, a step is in its file and visible when it ends.
TEST_F(StepSinkTest, a_log_without_room_is_no_worse_than_none) {
  journal::TestJournal<> full;
  Files files(path_, report_);
  const StepLog::Limits limits{1 << 20};
  LogSink sink(Comm(), files, report_, std::make_unique<StepLog>(full.writer(), limits, report_));
  full.data->room = 0;
  full.records->room = 0;
  write(sink, files, 1);
  EXPECT_EQ(files.shown, Steps{1});
  EXPECT_EQ(files.data().size(), 32);
}

}  // namespace step_sink_test
}  // namespace forebay::process_group
