// Steps of groups that wait in logs (stage burst): when they reach the file, and what a job leaves
// that ends before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/records/group_file.h"
#include "groups/records/group_reader.h"
#include "groups/records/group_staging.h"
#include "method/groups.h"
#include "stage/recovery.h"
#include "store/journal_files.h"

namespace forebay {
namespace group_staging_ranks_test {

namespace fs = std::filesystem;
using process_group::BpReader;
using process_group::walk_pieces;

constexpr int ranks = 3;
constexpr std::int64_t rows = 50;  // per rank, in two boxes

class GroupStagingRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_staging_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "logs");
    path_ = folder_ / "run.bp";
    method_.stage = "burst";
    method_.burst_directory = folder_ / "logs";
    method_.origin["stage"] = "the test";
    group_ = define_group("g", "C");
    define_variable(group_, {.name = "n", .type = "int64"});
    define_variable(group_, {.name = "T",
                             .type = "double",
                             .dimensions = "1",
                             .global = "1",
                             .offsets = "0",
                             .characteristics = "histogram:0,4,4"});
    define_attribute(group_, "T/units", "K", "");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<GroupFile> open(const Comm& comm, bool append) const {
    return GroupFile::create(comm, path_, group_, method_, append);
  }

  static double value(std::int64_t step, std::int64_t row) {
    return 1000 * static_cast<double>(step) + static_cast<double>(row);
  }
  // Rank 1 has nothing in every third step.
  static void add(const Comm& comm, GroupFile& file, std::int64_t step) {
    const std::int64_t all = ranks * rows, half = rows / 2;
    if (comm.is_root()) file.write("n", &step, false);
    const bool holds = comm.rank() != 1 || step % 3 != 2;
    for (std::int64_t box = 0; holds && box < 2; ++box) {
      const std::int64_t at = comm.rank() * rows + box * half;
      std::vector<double> values;
      for (std::int64_t i = 0; i < half; ++i) values.push_back(value(step, at + i));
      file.write_box("T", {&all, &at, &half}, values.data(), false);
    }
  }
  static void write(const Comm& comm, GroupFile& file, std::int64_t steps) {
    for (std::int64_t n = 0; n < steps; ++n) {
      add(comm, file, static_cast<std::int64_t>(file.steps()));
      file.end_step();
    }
  }
  /// Ranks end within a step, without closing the file.
  void leave(std::int64_t steps, bool append = false) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = open(comm, append);
      write(comm, *file, steps);
      add(comm, *file, 99);
      comm.barrier();
    });
  }

  std::size_t records() const { return fs::file_size(path_ / "md.idx") / 64 - 1; }
  std::size_t logs() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ / "logs"), {}));
  }
  bool nothing_is_left() const { return logs() == 0 && !fs::exists(folder_ / "run.bp.staging"); }

  void check(std::size_t steps) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), steps);
    const std::size_t v = file.find("T");
    for (std::size_t step = 0; step < steps; ++step) {
      ASSERT_EQ(file.blocks(v, step).size(), step % 3 == 2 ? 4U : 6U) << step;
      for (const bp::Block& block : file.blocks(v, step)) {
        std::vector<double> values(static_cast<std::size_t>(block.at.count[0]));
        file.read_block(v, block, reinterpret_cast<std::byte*>(values.data()));
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(values[i], value(static_cast<std::int64_t>(step),
                                     block.at.start[0] + static_cast<std::int64_t>(i)));
      }
      EXPECT_EQ(file.blocks(file.find("T.histogram"), step).size(), file.blocks(v, step).size());
    }
    EXPECT_EQ(file.attributes().size(), 2U);
  }

  RecoveredSession recover_all(const RecoveryOptions& options = {}) const {
    const auto result = recover(Comm(), path_.string() + "/", options);  // as a shell writes it
    if (result.sessions.size() == 1) return result.sessions[0];
    ADD_FAILURE() << result.sessions.size() << " sessions";
    return {};
  }

  fs::path folder_, path_;
  Method method_;
  GroupDefinition group_;
};

// Covers groups that are written before their step ends, and several data files.
TEST_F(GroupStagingRanks, steps_are_in_the_file_behind_sync_and_close) {
  for (const Count limit : {64 << 20, 300}) {
    for (const Subfiling subfiling : {Subfiling::none, Subfiling::ranks}) {
      SetUp();
      method_.buffer_limit = limit;
      method_.subfiling = subfiling;
      run_as_threads(ranks, [&](const Comm& comm) {
        auto file = open(comm, false);
        const auto expect = [&](std::size_t steps) {
          comm.barrier();
          EXPECT_EQ(records(), steps);
          comm.barrier();
        };
        write(comm, *file, 4);
        expect(0);
        file->sync();
        expect(4);
        EXPECT_EQ(logs(), 2U * ranks);
        write(comm, *file, 3);
        expect(4);
        file->close();
        expect(7);
        file = open(comm, true);
        write(comm, *file, 2);
        file->close();
        expect(9);
      });
      EXPECT_TRUE(nothing_is_left());
      check(9);
    }
  }
}

TEST_F(GroupStagingRanks, logs_are_emptied_when_there_is_enough_in_them) {
  method_.burst_flush_size = 3000;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm, false);
    for (std::size_t last = 0, n = 0; n < 20; ++n) {
      write(comm, *file, 1);
      comm.barrier();
      EXPECT_GE(records() + 3, n + 1);
      EXPECT_GE(records(), last);
      last = records();
      EXPECT_LE(fs::file_size(fs::directory_iterator(folder_ / "logs")->path()), 40'000U);
      comm.barrier();
    }
    file->close();
  });
  check(20);
}

TEST_F(GroupStagingRanks, what_a_job_leaves_is_put_into_the_file) {
  for (const Count limit : {64 << 20, 300}) {
    SetUp();
    method_.buffer_limit = limit;
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = open(comm, false);
      write(comm, *file, 2);
      file->sync();
      write(comm, *file, 4);
      add(comm, *file, 99);
      comm.barrier();
    });
    EXPECT_EQ(records(), 2U);
    // Nobody appends without the logs, or reads the file unaware of them.
    Method direct;
    EXPECT_TRUE(attempt_to([&] { GroupFile::create(Comm(), path_, group_, direct, true); }));
    EXPECT_TRUE(attempt_to([&] { GroupReader(Comm(), path_, direct); }));
    RecoveryOptions look;
    look.verify_only = true;
    EXPECT_FALSE(recover_all(look).error);
    EXPECT_EQ(records(), 2U);
    RecoveryOptions keep;
    keep.keep = true;
    EXPECT_FALSE(recover_all(keep).error);
    check(6);
    const auto session = recover_all();
    EXPECT_FALSE(session.error) << session.error->what();
    EXPECT_TRUE(session.done && session.damage.empty());
    EXPECT_TRUE(nothing_is_left());
    check(6);
    leave(2, true);
    method_.recover = Recover::automatic;
    EXPECT_EQ(GroupReader(Comm(), path_, method_).steps(), 8U);
    EXPECT_TRUE(nothing_is_left());
    check(8);
    leave(2, true);
    run_as_threads(2, [&](const Comm& comm) { open(comm, true)->close(); });
    check(10);
    leave(2, true);
    leave(1);  // replaces the file
    EXPECT_FALSE(recover_all().error);
    check(1);
    method_.recover = Recover::refuse;
  }
}

// Pieces of abandoned steps that ranks had logged lie where other ranks' parts of later steps are.
TEST_F(GroupStagingRanks, steps_that_were_given_up_are_not_replayed) {
  method_.buffer_limit = 300;
  run_as_threads(ranks, [&](const Comm& comm) {
    GroupDefinition mine = group_;
    define_variable(mine, {.name = "odd", .type = comm.rank() == 1 ? "int64" : "double"});
    const auto file = GroupFile::create(comm, path_, mine, method_, false);
    write(comm, *file, 1);
    for (int again = 0; again < 2; ++again) {
      if (comm.rank() == ranks - 1) add(comm, *file, 70);  // is replayed last
      const double odd = 0;
      file->write("odd", &odd, false);
      EXPECT_TRUE(attempt_to([&] { file->end_step(); }));
    }
    write(comm, *file, 2);
    comm.barrier();
  });
  const auto session = recover_all();
  EXPECT_FALSE(session.error) << session.error->what();
  check(3);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(GroupStagingRanks, a_full_file_system_is_told_when_all_is_to_be_in_the_file) {
  method_.burst_flush_size = 1;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm, false);
    write(comm, *file, 1);
    file->close();
  });
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm, true);
    comm.barrier();
    if (comm.is_root()) {  // it has the file open and keeps writing to it
      fs::rename(path_ / "data.0", path_ / "real");
      fs::create_symlink("/dev/full", path_ / "data.0");
    }
    comm.barrier();
    write(comm, *file, 3);  // each step tries to leave the log
    EXPECT_EQ(records(), 1U);
    EXPECT_TRUE(attempt_to([&] { file->sync(); }));
    EXPECT_TRUE(attempt_to([&] { file->close(); }));
  });
  fs::remove(path_ / "data.0");
  fs::rename(path_ / "real", path_ / "data.0");
  const auto session = recover_all();
  EXPECT_FALSE(session.error) << session.error->what();
  check(4);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(GroupStagingRanks, steps_behind_damage_are_left_out_if_that_is_asked_for) {
  leave(4);
  // Damages a value of step 2 in the log of rank 2.
  for (const auto& entry : fs::directory_iterator(folder_ / "logs")) {
    if (!entry.path().string().ends_with(".2.data")) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const double wanted = value(2, 2 * rows + 7);
    const std::string text(reinterpret_cast<const char*>(&wanted), sizeof wanted);
    const auto at = bytes.find(text);
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.put('!');
  }
  RecoveryOptions options;
  auto session = recover_all(options);
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code(), Errc::ebadlog);
  EXPECT_EQ(records(), 0U);
  options.skip_damaged = true;
  session = recover_all(options);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(session.damage.size(), 1U);
  check(2);
  EXPECT_TRUE(nothing_is_left());
}

// Without the record nothing says that the step has ended.
TEST_F(GroupStagingRanks, a_record_that_is_damaged_is_damage) {
  for (const std::size_t lost : {3, 1}) {
    SetUp();
    leave(4);
    Report report;
    for (const auto& entry : fs::directory_iterator(folder_ / "logs")) {
      std::string stem = entry.path();
      if (!stem.ends_with(".0.data")) continue;
      stem.resize(stem.size() - 5);
      std::vector<Offset> places;
      walk_pieces(*open_log(stem, 0, report),
                  [&](std::uint64_t, const auto& piece, const journal::Data& data) {
                    if (piece && piece->file == process_group::LoggedPiece::index)
                      places.push_back(data.data);
                  });
      ASSERT_EQ(places.size(), 4U);
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(places[lost] + 40);
      file.put('!');
    }
    RecoveryOptions options;
    auto session = recover_all(options);
    ASSERT_TRUE(session.error);
    EXPECT_EQ(session.error->code(), Errc::ebadlog);
    EXPECT_EQ(session.damage.size(), 4 - lost);
    EXPECT_EQ(records(), 0U);
    options.skip_damaged = true;
    session = recover_all(options);
    EXPECT_FALSE(session.error) << session.error->what();
    check(lost);
    EXPECT_TRUE(nothing_is_left());
  }
}

TEST_F(GroupStagingRanks, logs_that_lack_a_rank_or_their_end_are_refused) {
  leave(3);
  fs::path records_of_2;
  for (const auto& entry : fs::directory_iterator(folder_ / "logs"))
    if (entry.path().string().ends_with(".2.records")) records_of_2 = entry.path();
  const auto whole = fs::file_size(records_of_2);
  fs::copy_file(records_of_2, folder_ / "kept");
  fs::resize_file(records_of_2, whole - 300);  // as a machine may leave it
  auto session = recover_all();
  ASSERT_TRUE(session.error);
  EXPECT_EQ(records(), 0U);
  fs::remove(records_of_2);
  session = recover_all();
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->advice().find("--partial"), std::string::npos) << session.error->what();
  RecoveryOptions options;
  options.partial = true;
  EXPECT_TRUE(recover_all(options).error);
  fs::copy_file(folder_ / "kept", records_of_2);
  EXPECT_FALSE(recover_all().error);
  check(3);
}

TEST_F(GroupStagingRanks, a_file_that_was_gone_on_with_keeps_its_steps) {
  leave(2);
  Method other;
  other.recover = Recover::ignore;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, path_, group_, other, true);
    write(comm, *file, 1);
    file->close();
  });
  const auto session = recover_all();
  ASSERT_TRUE(session.error);
  EXPECT_EQ(session.error->code(), Errc::ebadlog);
  check(1);
}

TEST_F(GroupStagingRanks, a_file_that_cannot_be_replaced_keeps_its_logs) {
  leave(2);
  Method other;
  apply_hints(other, "bp_version=3", "the test");
  for (const char* const also : {"", "subfiling=ranks"}) {
    if (*also != '\0') apply_hints(other, also, "the test");
    run_as_threads(2, [&](const Comm& comm) {
      EXPECT_TRUE(attempt_to([&] { GroupFile::create(comm, path_, group_, other, false); }));
    });
  }
  std::ofstream(path_ / "notes") << "mine";
  fs::rename(path_ / "md.idx", folder_ / "kept");
  EXPECT_TRUE(attempt_to([&] { GroupFile::create(Comm(), path_, group_, method_, false); }));
  fs::rename(folder_ / "kept", path_ / "md.idx");
  EXPECT_FALSE(recover_all().error);
  check(2);
}

// The ranks of a node share files, with separate blocks.
TEST_F(GroupStagingRanks, logs_of_a_node) {
  for (const int of_node : {0, 2}) {
    SetUp();
    const std::size_t files = of_node == 0 ? 2 : 4;
    method_.burst_shared = Switch::enable;
    method_.ranks_per_node = of_node;
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = open(comm, false);
      write(comm, *file, 2);
      comm.barrier();
      EXPECT_EQ(logs(), files);
      comm.barrier();
      file->sync();
      write(comm, *file, 2);
      file->close();
    });
    EXPECT_TRUE(nothing_is_left());
    check(4);
    leave(3, true);
    EXPECT_EQ(logs(), files);
    EXPECT_EQ(records(), 4U);
    const auto session = recover_all();
    EXPECT_FALSE(session.error) << session.error->what();
    EXPECT_TRUE(nothing_is_left());
    check(7);
    method_.burst_shared = Switch::disable;
    method_.ranks_per_node = 0;
  }
}

TEST_F(GroupStagingRanks, logs_that_cannot_be_made_leave_none) {
  method_.burst_shared = Switch::enable;
  method_.burst_directory = folder_ / "nowhere";
  run_as_threads(ranks,
                 [&](const Comm& comm) { EXPECT_TRUE(attempt_to([&] { open(comm, false); })); });
  EXPECT_TRUE(nothing_is_left());
  method_.burst_directory = folder_ / "logs";
  fs::create_directory(folder_ / "run.bp.staging");
  run_as_threads(ranks,
                 [&](const Comm& comm) { EXPECT_TRUE(attempt_to([&] { open(comm, false); })); });
  EXPECT_EQ(logs(), 0U);
}

TEST_F(GroupStagingRanks, logs_are_emptied_when_a_step_has_waited_long_enough) {
  method_.burst_flush_time = 1;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm, false);
    write(comm, *file, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    write(comm, *file, 1);
    comm.barrier();
    EXPECT_EQ(records(), 2U);
    comm.barrier();
    file->close();
  });
  check(2);
}

// Logs that were kept on purpose need no recovery.
TEST_F(GroupStagingRanks, logs_stay_where_that_is_asked_for) {
  method_.burst_delete = Switch::disable;
  for (const std::size_t steps : {3, 6}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = open(comm, steps > 3);
      write(comm, *file, 2);
      file->sync();
      write(comm, *file, 1);
      file->close();
    });
    EXPECT_EQ(logs(), 2 * ranks * steps / 3);
    EXPECT_FALSE(fs::exists(folder_ / "run.bp.staging"));
    check(steps);
  }
  std::size_t kept = 0;
  Report report;
  for (const FoundSession& session : find_logs(folder_ / "logs").sessions)
    for (const FoundLog& log : session.logs) {
      EXPECT_TRUE(log.state.closed);
      walk_pieces(
          *open_log(log.stem, 0, report), [&](auto&&...) { ++kept; }, true);
    }
  EXPECT_GE(kept, 6U * ranks);
  leave(2, true);
  EXPECT_EQ(records(), 6U);
  const auto result = recover(Comm(), path_, {});
  ASSERT_EQ(result.sessions.size(), 1U);
  EXPECT_FALSE(result.sessions[0].error) << result.sessions[0].error->what();
  check(8);
}

TEST_F(GroupStagingRanks, bp3_is_refused) {
  apply_hints(method_, "bp_version=3", "the test");
  const auto failed = attempt_to([&] { GroupFile::create(Comm(), path_, group_, method_, false); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotsupport);
  EXPECT_NE(std::string(failed->what()).find("stage=burst"), std::string::npos);
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace group_staging_ranks_test
}  // namespace forebay
