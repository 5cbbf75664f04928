// System calls fail while ranks write steps. All ranks get the same error, acknowledged steps are
// in the file, and the program may continue.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/made_again_testing.h"
#include "groups/process_group/step_log.h"
#include "groups/process_group/step_writer.h"
#include "storage/file.h"
#include "support/cases.h"

namespace {

std::mutex truncation_mutex;
std::function<void()> before_truncation;  ///< is called before each truncation of a file

}  // namespace

// Replaces the C library's function.
extern "C" int ftruncate(int fd, off_t size) noexcept {
  {
    const std::lock_guard lock(truncation_mutex);
    if (before_truncation) before_truncation();
  }
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

namespace forebay::process_group {
namespace step_faults_ranks_test {

namespace fs = std::filesystem;

// The setting for failing system calls is read once (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);
void fail(const std::string& plan) { ::setenv("FOREBAY_FAULT", plan.c_str(), 1); }

constexpr int ranks = 3, tries = 5;
constexpr Count blocks = 6, block = 8;  // of each rank; elements of a block

double value_of(int attempt, Count element) {
  return 10000 * (attempt + 1) + static_cast<double>(element);
}

/// One try to write a step: which blocks it has, and whether it is in the file.
struct Try {
  std::array<std::array<bool, blocks>, ranks> has{};
  std::array<bool, ranks> ended{};
};

struct Way {
  const char* name;
  WriteOptions options;
  bool flushes = false;
  bool logged = false;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"plain", {}, false},         {"flushed", {}, true}, {"early", {}, false},
                       {"early, flushed", {}, true}, {"files", {}, false},  {"BP3", {}, false},
                       {"BP3, flushed", {}, true}};
  all[2].options.step_memory = all[3].options.step_memory = 2 * block * 8;
  all[2].options.ranks_per_node = 2;
  all[4].options.ranks_per_file = 1;
  all[4].options.step_memory = 3 * block * 8;
  all[5].options.one_file = all[6].options.one_file = true;
  all.push_back({"async", {}, false});
  all.back().options.async_memory = 1 << 10;
  all.push_back({"logged", {}, false, true});
  all.push_back({"logged, early, flushed", {}, true, true});
  all.back().options.step_memory = 2 * block * 8;
  return all;
}

class StepFaults : public testing::Test {
 protected:
  void SetUp() override {
    // There are thousands of calls, so the files are in memory if it has a folder.
    const fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir();
    path_ = parent / ("forebay_faults_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override {
    fail("none");
    fs::remove_all(path_);
    for (int rank = 0; rank < ranks; ++rank)
      for (const char* end : {".records", ".data"})
        fs::remove(path_.string() + "." + std::to_string(rank) + end);
  }

  /// Another folder on the same disk; its calls fail as well.
  std::unique_ptr<StepLog> log_of(const Comm& comm, Report& report) const {
    const auto file = [&](const char* end) {
      const std::string path = path_.string() + "." + std::to_string(comm.rank()) + end;
      auto made = std::make_unique<File>(path, true, comm.rank(), report);
      made->create(false);
      return made;
    };
    journal::Header header;
    header.session = 1;
    header.rank = comm.rank();
    header.ranks = ranks;
    header.path = path_;
    auto records = file(".records"), data = file(".data");
    auto log = std::make_unique<journal::Writer>(std::move(records), std::move(data), header,
                                                 journal::State());
    return std::make_unique<StepLog>(std::move(log), StepLog::Limits{1 << 16, 3000}, report);
  }

  /// Tries to write steps while a call fails. Returns whether any rank got an error.
  bool write(const Way& way, const std::string& plan) {
    tries_ = {};
    closed_ = true;
    bool told = false;
    std::array<std::vector<Errc>, ranks> outcomes;
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto me = static_cast<std::size_t>(comm.rank());
      const auto note = [&](const std::optional<Error>& failed) {
        outcomes[me].push_back(failed ? failed->code() : Errc::ok);
        return !failed;
      };
      Report report;
      auto file = StepWriter::create(comm, path_, way.options, report);
      if (way.logged) file->use_log(log_of(comm, report));
      comm.barrier();
      if (comm.is_root()) fail(plan);
      comm.barrier();
      for (int attempt = 0; attempt < tries; ++attempt) {
        Try& its = tries_[static_cast<std::size_t>(attempt)];
        std::vector<std::vector<double>> lent;
        bool goes_on = true;
        for (Count b = 0; b < blocks && goes_on; ++b) {
          const Count first = (comm.rank() * blocks + b) * block;
          auto& values = lent.emplace_back();
          for (Count i = first; i < first + block; ++i) values.push_back(value_of(attempt, i));
          const auto failed = attempt_to([&] {
            file->add({b % 2 == 0 ? "a" : "b", bp::Type::float64},
                      {{ranks * blocks * block}, {first}, {block}},
                      std::as_bytes(std::span(values)), comm.is_root());
          });
          its.has[me][static_cast<std::size_t>(b)] = !failed;
          if (failed) told = true;
          if (way.flushes && b == blocks / 2) goes_on = note(attempt_to([&] { file->flush(); }));
        }
        if (goes_on) its.ended[me] = note(attempt_to([&] { file->end_step(); }));
      }
      note(attempt_to([&] { file->sync(); }));
      const bool closed = note(attempt_to([&] { file->close(); }));
      if (comm.is_root()) closed_ = closed;
    });
    fail("none");
    for (const auto& its : outcomes) {
      EXPECT_EQ(its.size(), outcomes[0].size());
      for (std::size_t i = 0; i < its.size() && i < outcomes[0].size(); ++i) {
        EXPECT_EQ(its[i] == Errc::ok, outcomes[0][i] == Errc::ok) << "outcome " << i;
        told |= its[i] != Errc::ok;
      }
    }
    return told;
  }

  /// With stage async, the last step is in the file after close().
  void check(bool async) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    std::size_t step = 0;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const Try& its = tries_[static_cast<std::size_t>(attempt)];
      if (!its.ended[0]) continue;
      if (async && !closed_ && step == file.steps()) return;
      ASSERT_LT(step, file.steps());
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t b = 0; b < blocks; ++b) {
          if (!its.has[r][b]) continue;
          const Count first = (static_cast<Count>(r) * blocks + static_cast<Count>(b)) * block;
          std::vector<double> values(block, -1);
          file.read(file.find(b % 2 == 0 ? "a" : "b"), step, {{first}, {block}, {}},
                    reinterpret_cast<std::byte*>(values.data()));
          for (Count i = 0; i < block; ++i)
            ASSERT_EQ(values[static_cast<std::size_t>(i)], value_of(attempt, first + i))
                << "try " << attempt << ", rank " << r << ", block " << b;
        }
      ++step;
    }
    EXPECT_EQ(file.steps(), step);
  }

  fs::path path_;
  std::array<Try, tries> tries_;
  bool closed_ = true;
};

// One test for each way, so that the tests can run in parallel.
class StepFaultsOfWay : public StepFaults, public testing::WithParamInterface<std::size_t> {};

TEST_P(StepFaultsOfWay, leave_what_was_acknowledged_and_the_program_goes_on) {
  int failures = 0;
  const Way way = ways()[GetParam()];
  for (const char* call : {"pwrite", "open", "fsync", "close", "truncate"})
    for (int rank = 0; rank < ranks; ++rank) {
      const auto is_told = [&](long number) {
        if (HasFailure()) return false;
        const std::string plan = std::string(call) + ":rank=" + std::to_string(rank) +
                                 ":call=" + std::to_string(number) + ":errno=ENOSPC";
        SCOPED_TRACE(std::string(way.name) + ", " + plan);
        const bool told = write(way, plan);
        failures += told ? 1 : 0;
        if (way.logged && !closed_) {  // steps that are not in the file are in the logs
          fs::remove_all(path_);
          return told;
        }
        check(way.options.async_memory > 0);
        if (HasFailure()) return told;
        if (way.options.one_file) {
          fs::remove(path_);
          return told;
        }
        // The groups alone give the same steps.
        make_index_again(path_);
        check(way.options.async_memory > 0);
        if (!HasFailure()) fs::remove_all(path_);
        return told;
      };
      forebay_test::try_places(1, 1, is_told, 2);  // not all failures are reported
      if (HasFailure()) return;
    }
  // Fewer failures are reported for calls on logs and for delayed calls.
  EXPECT_GE(failures, forebay_test::few_of(way.logged || way.options.async_memory > 0 ? 10 : 80));
}

INSTANTIATE_TEST_SUITE_P(Ways, StepFaultsOfWay, testing::Range(std::size_t{0}, ways().size()));

// The remains lie behind the step that is written in its place, and are as whole.
TEST_F(StepFaults, what_cannot_be_given_back_belongs_to_no_step) {
  for (const Way& way : ways()) {
    if (way.options.one_file || way.options.async_memory > 0 || way.logged) continue;
    SCOPED_TRACE(way.name);
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      auto file = StepWriter::create(comm, path_, way.options, report);
      const auto add = [&](int version, Count many) {
        for (Count b = 0; b < many; ++b) {
          const std::vector<double> values(block, version);
          file->add({"a", bp::Type::float64}, {{}, {}, {block}}, std::as_bytes(std::span(values)),
                    false);
        }
      };
      add(1, 1);
      file->end_step();
      add(2, 4 * blocks);
      file->flush();
      add(2, 4 * blocks);
      comm.barrier();
      if (comm.is_root()) fail("truncate:call=1:from");
      comm.barrier();
      std::optional<Error> mine;
      if (comm.rank() == 1) mine = Error(Errc::eread, "it cannot be read");
      EXPECT_TRUE(attempt_to([&] { file->flush(mine); }));
      comm.barrier();
      if (comm.is_root()) fail("none");
      comm.barrier();
      add(3, 1);
      file->end_step();
      file->close();
    });
    with_index_and_without(path_, 2, [](const BpReader& file) {
      ASSERT_EQ(file.steps(), 2U);
      for (const bp::Block& one : file.blocks(0, 1))
        EXPECT_EQ(bp::number_of<double>(bp::Type::float64, one.min), 3);
      EXPECT_EQ(file.blocks(0, 1).size(), static_cast<std::size_t>(ranks));
    });
    fs::remove_all(path_);
  }
}

// The step fails on all ranks, although only one rank's block did not fit.
TEST_F(StepFaults, a_block_that_could_not_go_out_at_once_waits_for_the_end_of_the_step) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    WriteOptions options;
    options.ranks_per_file = 1;
    options.step_memory = 64 << 20;
    auto file = StepWriter::create(comm, path_, options, report);
    const auto write = [&](double base) {
      std::vector<double> values(100'000);
      for (int b = 0; b < 3; ++b) {
        values.assign(values.size(), base + b);
        file->add({"a", bp::Type::float64}, {{}, {}, {std::ssize(values)}},
                  std::as_bytes(std::span(values)), false);
        values.assign(values.size(), -1);
      }
    };
    for (const bool stays_full : {false, true}) {
      const std::string plan = "pwrite:call=1:errno=ENOSPC:rank=1";
      comm.barrier();
      if (comm.is_root()) fail(plan + (stays_full ? ":from" : ""));
      comm.barrier();
      write(10);
      const auto failed = attempt_to([&] { file->end_step(); });
      EXPECT_EQ(failed.has_value(), stays_full);
      comm.barrier();
      if (comm.is_root()) fail("none");
      comm.barrier();
    }
    write(20);
    file->end_step();
    file->close();
  });
  with_index_and_without(path_, 2, [](const BpReader& file) {
    ASSERT_EQ(file.steps(), 2U);
    std::vector<double> values(100'000);
    for (std::size_t step = 0; step < 2; ++step) {
      const auto blocks = file.blocks(0, step);
      ASSERT_EQ(blocks.size(), static_cast<std::size_t>(3 * ranks));
      std::array<int, 3> seen{};
      for (const bp::Block& one : blocks) {
        file.read_block(0, one, reinterpret_cast<std::byte*>(values.data()));
        EXPECT_EQ(values, std::vector<double>(values.size(), values[0]));
        EXPECT_EQ(bp::number_of<double>(bp::Type::float64, one.max), values[0]);
        const int which = static_cast<int>(values[0]) - (step == 0 ? 10 : 20);
        ASSERT_TRUE(which >= 0 && which < 3) << values[0];
        ++seen[static_cast<std::size_t>(which)];
      }
      EXPECT_EQ(seen, (std::array<int, 3>{ranks, ranks, ranks}));
    }
  });
}

// All of the step except the record is in the files, and its space cannot be freed, twice in a row.
TEST_F(StepFaults, a_step_that_was_given_up_is_not_recovered) {
  for (const Way& way : ways()) {
    if (way.options.one_file || way.options.async_memory > 0 || way.logged) continue;
    for (const bool keeps_index : {true, false}) {
      SCOPED_TRACE(way.name);
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        auto file = StepWriter::create(comm, path_, way.options, report);
        const auto end_step = [&](int value) {
          const std::vector<double> values(block, value);
          for (Count b = 0; b < blocks; ++b)
            file->add({"a", bp::Type::float64}, {{}, {}, {block}}, std::as_bytes(std::span(values)),
                      false);
          if (way.flushes) file->flush();
          file->end_step();
        };
        end_step(1);
        comm.barrier();
        if (comm.is_root()) {
          make_read_only(path_ / "md.idx");
          fail("truncate:call=1:from");
        }
        comm.barrier();
        EXPECT_TRUE(attempt_to([&] { end_step(2); }));
        EXPECT_TRUE(attempt_to([&] { end_step(3); }));
        attempt_to([&] { file->close(); });
        comm.barrier();
        if (comm.is_root()) fail("none");
      });
      Report report;
      if (keeps_index) {
        EXPECT_EQ(recover_index(path_, {}, 0, report).steps, 1U);
      } else {
        EXPECT_EQ(make_index_again(path_).by_groups, 1U);
      }
      EXPECT_EQ(BpReader(Comm(), path_, report).steps(), 1U);
      fs::remove_all(path_);
    }
  }
}

// The record of a step arrives, although its write fails. A kill before any of the truncations that
// follow leaves no index that names what is cut.
TEST_F(StepFaults, what_the_index_names_is_there_while_a_step_is_given_up) {
  for (const Way& way : ways()) {
    if (way.options.one_file || way.options.async_memory > 0 || way.logged) continue;
    bool seen_both = false;
    const auto look = [&] {
      const auto failed = attempt_to([&] {
        Report report;
        const BpReader file(Comm(), path_, report);
        seen_both = seen_both || file.steps() == 2;
        std::vector<double> values(block);
        for (std::size_t step = 0; step < file.steps(); ++step)
          for (const bp::Block& one : file.blocks(0, step)) {
            file.read_block(0, one, reinterpret_cast<std::byte*>(values.data()));
            EXPECT_EQ(values, std::vector<double>(block, static_cast<double>(step) + 1));
          }
      });
      EXPECT_FALSE(failed) << failed->what();
    };
    const auto set = [](const std::string& plan, std::function<void()> then) {
      const std::lock_guard lock(truncation_mutex);
      fail(plan);
      before_truncation = std::move(then);
    };
    for (int call = 1; call <= 20; ++call) {
      SCOPED_TRACE(std::string(way.name) + ", call " + std::to_string(call));
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        auto file = StepWriter::create(comm, path_, way.options, report);
        const auto end_step = [&](int value) {
          const std::vector<double> values(block, value);
          for (Count b = 0; b < blocks; ++b)
            attempt_to([&] {
              file->add({"a", bp::Type::float64}, {{}, {}, {block}},
                        std::as_bytes(std::span(values)), false);
            });
          if (way.flushes) file->flush();
          file->end_step();
        };
        end_step(1);
        comm.barrier();
        if (comm.is_root()) set("pwritten:rank=0:call=" + std::to_string(call), look);
        comm.barrier();
        attempt_to([&] { end_step(2); });
        comm.barrier();
        if (comm.is_root()) set("none", {});
        comm.barrier();
        file->close();
      });
      fs::remove_all(path_);
    }
    EXPECT_TRUE(seen_both) << way.name;
  }
}

// Otherwise the old index would be gone, and the writer would still use it.
TEST_F(StepFaults, a_truncation_that_fails_but_took_effect_ends_a_step_of_bp3) {
  for (const Way& way : ways()) {
    if (!way.options.one_file) continue;
    for (int call = 1; call <= 2 * tries; ++call) {
      SCOPED_TRACE(std::string(way.name) + ", call " + std::to_string(call));
      EXPECT_FALSE(write(way, "truncated:rank=0:call=" + std::to_string(call)));
      check(false);
      if (HasFatalFailure()) return;
      fs::remove(path_);
    }
  }
}

/// Writes steps for ever; `done` counts the ended ones.
void write_steps(const Way& way, const fs::path& path, std::atomic<int>& done) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    auto file = StepWriter::create(comm, path, way.options, report);
    for (int step = 0;; ++step) {
      std::vector<std::vector<double>> lent;
      for (Count b = 0; b < blocks; ++b) {
        const Count first = (comm.rank() * blocks + b) * block;
        auto& values = lent.emplace_back();
        for (Count i = first; i < first + block; ++i) values.push_back(value_of(step, i));
        file->add({"a", bp::Type::float64}, {{ranks * blocks * block}, {first}, {block}},
                  std::as_bytes(std::span(values)), comm.is_root());
        if (way.flushes && b == blocks / 2) file->flush();
      }
      file->end_step();
      if (comm.is_root()) done = step + 1;
    }
  });
}

// The file is readable without recovery.
TEST_F(StepFaults, a_kill_leaves_what_was_acknowledged_to_be_read) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer knows no threads of a process that was forked";
#endif
  auto& done = *static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int seen = 0;
  for (const Way& way : ways())
    for (int time = 1; time <= 20 && !way.logged; time = forebay_test::next_place(time, 1, 21)) {
      SCOPED_TRACE(std::string(way.name) + ", " + std::to_string(time));
      fs::remove_all(path_);
      done = 0;
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        fail("pwrite:delay=100");
        write_steps(way, path_, done);
        ::_exit(1);
      }
      while (done == 0 && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(100);
      ::usleep(static_cast<useconds_t>(337 * time));
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      const int told = done - (way.options.async_memory > 0 ? 1 : 0);
      if (told < 1) continue;
      ++seen;
      Report report;
      const BpReader file(Comm(), path_, report);
      ASSERT_GE(static_cast<int>(file.steps()), told);
      for (int step = 0; step < static_cast<int>(file.steps()); ++step) {
        std::vector<double> values(ranks * blocks * block, -1);
        file.read(0, static_cast<std::size_t>(step), {{0}, {std::ssize(values)}, {}},
                  reinterpret_cast<std::byte*>(values.data()));
        for (Count i = 0; i < std::ssize(values); ++i)
          ASSERT_EQ(values[static_cast<std::size_t>(i)], value_of(step, i)) << "step " << step;
      }
    }
  EXPECT_GT(seen, forebay_test::few_of(100));
  ::munmap(&done, sizeof done);
}

}  // namespace step_faults_ranks_test
}  // namespace forebay::process_group
