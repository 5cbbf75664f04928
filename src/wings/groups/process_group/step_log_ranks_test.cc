// Steps in logs (StepWriter::use_log): full logs, and steps that are given up.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/made_again_testing.h"
#include "groups/process_group/step_log.h"
#include "groups/process_group/step_testing.h"
#include "store/journal_testing.h"

namespace forebay::process_group {
namespace step_log_ranks_test {

namespace fs = std::filesystem;

constexpr int ranks = 3;
constexpr Count boxes = 20;  // of a rank, of two elements

class StepLogRanks : public StepFileTest {
 protected:
  void SetUp() override {
    StepFileTest::SetUp();
    logs_ = {};
  }

  /// With 100 bytes of memory, most of a step is written before it ends.
  std::unique_ptr<StepWriter> open(const Comm& comm, Report& report, Count step_memory = 100) {
    WriteOptions options;
    options.step_memory = step_memory;
    auto file = StepWriter::create(comm, path_, options, report);
    auto log = logs_.at(static_cast<std::size_t>(comm.rank())).writer();
    file->use_log(std::make_unique<StepLog>(std::move(log), StepLog::Limits{1 << 20}, report));
    return file;
  }
  static void add(const Comm& comm, StepWriter& file, int value) {
    for (Count b = 0; b < boxes; ++b) {
      const double values[2] = {static_cast<double>(value), static_cast<double>(b)};
      file.add({"v", bp::Type::float64},
               {{2 * boxes * ranks}, {2 * (boxes * comm.rank() + b)}, {2}},
               std::as_bytes(std::span(values)), false);
    }
  }
  std::size_t records() const { return fs::file_size(path_ / "md.idx") / 64 - 1; }
  void check(const std::vector<int>& expected) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), expected.size());
    for (std::size_t step = 0; step < expected.size(); ++step) {
      std::vector<double> values(static_cast<std::size_t>(2 * boxes * ranks), -1);
      file.read(0, step, {{0}, {2 * boxes * ranks}, {}},
                reinterpret_cast<std::byte*>(values.data()));
      for (std::size_t i = 0; i < values.size(); i += 2)
        ASSERT_EQ(values[i], expected[step]) << step << " " << i;
    }
  }

  std::array<journal::TestJournal<>, ranks> logs_;
};

// Pieces that do not fit into the log are written to the file, and all waiting pieces at the end of
// the step.
TEST_F(StepLogRanks, a_full_log_is_emptied) {
  for (const int full : {0, 1, 2}) {
    for (const Count room : {0, 50, 2000, 4000}) {
      SetUp();
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        const auto file = open(comm, report);
        for (int step = 0; step < 4; ++step) {
          if (step == 1 && comm.rank() == full) {
            logs_.at(static_cast<std::size_t>(full)).data->room = room;
            logs_.at(static_cast<std::size_t>(full)).records->room = 2 * room;
          }
          add(comm, *file, step);
          file->end_step();
          comm.barrier();
          if (step == 0) EXPECT_EQ(records(), 0U);
          if (step == 3) EXPECT_GE(records(), 2U);
          comm.barrier();
        }
        file->close();
      });
      check({0, 1, 2, 3});
    }
  }
}

// A power failure leaves what the last sync of a file found. A log whose steps are in the file must
// not have them again then.
TEST_F(StepLogRanks, a_log_that_comes_back_after_a_sync_has_no_step_that_is_in_the_file) {
  for (const bool emptied_before : {false, true}) {
    SetUp();
    run_as_threads(ranks, [&](const Comm& comm) {
      auto& mine = logs_.at(static_cast<std::size_t>(comm.rank()));
      Report report;
      const auto file = open(comm, report);
      add(comm, *file, 0);
      file->end_step();
      for (const auto& disk : {mine.records, mine.data})
        disk->stored = disk->bytes;  // the system may write at any time
      if (emptied_before) {          // the log is full, and is emptied at the end of the step
        mine.data->room = 0;
        add(comm, *file, 1);
        file->end_step();
      }
      file->sync();
      EXPECT_EQ(mine.records->stored, mine.records->bytes);
      EXPECT_EQ(mine.data->stored, mine.data->bytes);
      auto stored = mine.copy();
      stored.records->bytes = stored.records->stored;
      stored.data->bytes = stored.data->stored;
      int pieces = 0;
      walk_pieces(*stored.reader(), [&](auto&&...) { ++pieces; });
      EXPECT_EQ(pieces, 0);
      mine.records->stored.clear();
      file->sync();  // nothing was dropped since
      EXPECT_TRUE(mine.records->stored.empty());
      file->close();
    });
    check(emptied_before ? std::vector<int>{0, 1} : std::vector<int>{0});
  }
}

TEST_F(StepLogRanks, a_step_that_is_given_up_goes_to_no_file) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, report);
    const auto give_up = [&] {
      add(comm, *file, 77);
      std::optional<Error> mine;
      if (comm.rank() == 1) mine = Error(Errc::eread, "it cannot be read");
      EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
    };
    give_up();
    add(comm, *file, 1);
    file->end_step();
    give_up();
    // Another step gets its place. Flushed blocks of an unfinished step are not visible.
    add(comm, *file, 2);
    file->flush();
    file->end_step();
    give_up();
    EXPECT_EQ(file->steps(), 2U);
    EXPECT_EQ(records(), 0U);
    // The contents of logs for a replay.
    std::set<std::pair<std::int64_t, std::int64_t>> steps, others;
    const auto mine = logs_.at(static_cast<std::size_t>(comm.rank())).reader();
    comm.barrier();
    walk_pieces(*logs_[0].reader(), [&](std::uint64_t, const auto& piece, const auto&) {
      ASSERT_TRUE(piece);
      if (piece->file == LoggedPiece::index) steps.emplace(piece->opening, piece->step);
    });
    EXPECT_EQ(steps.size(), 2U);
    walk_pieces(*mine, [&](std::uint64_t, const auto& piece, const journal::Data& data) {
      ASSERT_TRUE(piece);
      std::vector<std::byte> bytes(static_cast<std::size_t>(data.bytes));
      mine->read(data, bytes);
      const double given_up = 77;
      const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const bool has =
          text.find(std::string(reinterpret_cast<const char*>(&given_up), 8)) != std::string::npos;
      EXPECT_EQ(steps.contains({piece->opening, piece->step}), !has) << piece->file_name();
      if (has) others.emplace(piece->opening, piece->step);
    });
    EXPECT_EQ(others.size(), 3U);
    comm.barrier();
    file->close();
  });
  check({1, 2});
}

// The logs have no space, so all of the step except the record is in the files. The record cannot
// be written there either.
TEST_F(StepLogRanks, a_step_that_neither_logs_nor_files_take_is_not_recovered) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, report, 0);
    add(comm, *file, 0);
    file->end_step();
    comm.barrier();
    auto& mine = logs_.at(static_cast<std::size_t>(comm.rank()));
    mine.data->room = mine.records->room = 0;
    if (comm.is_root()) make_read_only(path_ / "md.idx");
    comm.barrier();
    for (int again = 0; again < 2; ++again) {
      add(comm, *file, 77);
      EXPECT_TRUE(attempt_to([&] { file->end_step(); }));
    }
    EXPECT_TRUE(attempt_to([&] { file->close(); }));
  });
  EXPECT_EQ(make_index_again(path_).by_groups, 1U);
  check({0});
}

TEST_F(StepLogRanks, large_blocks_are_several_writes) {
  constexpr Count elements = 700'000;  // 5.6 MB
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto file = open(comm, report);
    const std::vector<double> values(elements, 1 + comm.rank());
    file->add({"v", bp::Type::float64}, {{2 * elements}, {elements * comm.rank()}, {elements}},
              std::as_bytes(std::span(values)), true);
    file->end_step();
    walk_pieces(*logs_.at(static_cast<std::size_t>(comm.rank())).reader(),
                [&](std::uint64_t, const auto&, const journal::Data& data) {
                  EXPECT_LE(data.bytes, StepLog::most_piece);
                });
    file->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  std::vector<double> values(static_cast<std::size_t>(2 * elements));
  file.read(0, 0, {{0}, {2 * elements}, {}}, reinterpret_cast<std::byte*>(values.data()));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i < elements ? 1 : 2);
}

}  // namespace step_log_ranks_test
}  // namespace forebay::process_group
