// Stores with redundancy: what is left when the files of ranks are lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "base/failing_memory_testing.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/inspect.h"
#include "checkpoints/parity.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "support/cases.h"

namespace forebay::checkpoint {
namespace parity_ranks_test {

namespace fs = std::filesystem;

constexpr int ranks = 4;

/// Each rank has a disk of its own, with a folder for the quick tier on it.
class ParityTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "forebay_parity_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    for (int rank = 0; rank < ranks; ++rank) make_disk(rank);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path disk(int rank) const { return folder_ / ("disk" + std::to_string(rank)); }
  void make_disk(int rank) const { fs::create_directories(disk(rank) / "quick"); }
  void lose(int rank) const {
    fs::remove_all(disk(rank));
    make_disk(rank);
  }

  Method method(int rank, const std::string& redundancy = "xor:4") const {
    Method method;
    method.checkpoint_memory = 3000;
    method.checkpoint_fast = (disk(rank) / "quick").string();
    method.checkpoint_fast_bytes = 30'000;
    method.checkpoint_dir = disk(rank).string();
    method.ranks_per_node = 1;
    method.of_parts["redundancy"] = redundancy;
    return method;
  }

  /// One rank's program: x and k, of other sizes on each rank.
  struct Program {
    Program(const Comm& comm, const Method& method)
        : rank(comm.rank()),
          x(static_cast<std::size_t>(500 + 70 * rank)),
          k(static_cast<std::size_t>(rank)),
          store(comm, "run", method) {
      store.add_variable("x", Type::float64, {std::ssize(x)}, "deflate:1", x.data());
      store.add_variable("k", Type::int32, {std::ssize(k)}, {}, k.data());
    }
    double value(Count step, int version, std::size_t i) const {
      return static_cast<double>(step * 100 + version * 10 + rank) +
             static_cast<double>(i % 97) / 7;
    }
    void fill(Count step, int version) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(step, version, i);
      for (std::int32_t& number : k) number = static_cast<std::int32_t>(step * 1000 + version);
    }
    void push(Count step, int version = 0, Kind kind = Kind::state) {
      fill(step, version);
      store.push({kind, step});
    }
    void expect(Count step, int version = 0, Kind kind = Kind::state) {
      x.assign(x.size(), -1);
      store.peek({kind, step});
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(x[i], value(step, version, i)) << "rank " << rank << ", step " << step;
      for (const std::int32_t number : k) ASSERT_EQ(number, step * 1000 + version);
    }
    std::vector<Count> steps() const {
      std::vector<Count> all(store.count(Kind::state));
      store.steps(Kind::state, all.size(), all.data());
      return all;
    }

    int rank;
    std::vector<double> x;
    std::vector<std::int32_t> k;
    Store store;
  };

  /// Runs `body` on all ranks. Stores that are not closed are left as a kill leaves them.
  template <typename F>
  void run(F&& body, const std::string& redundancy = "xor:4", int n = ranks) const {
    run_as_threads(n, [&](const Comm& comm) {
      Program program(comm, method(comm.rank(), redundancy));
      body(program);
    });
  }
  /// Does the same while a call of a rank fails, and returns the error. `plan` is as in
  /// storage/fault.h.
  template <typename F>
  std::optional<Error> run_with(const std::string& plan, F&& body,
                                const std::string& redundancy = "xor:4") const {
    ::setenv("FOREBAY_FAULT", plan.c_str(), 1);
    auto failed = attempt_to([&] { run(body, redundancy); });
    ::setenv("FOREBAY_FAULT", "none", 1);
    return failed;
  }

  /// Changes all stored bytes, but the table of a segment, of those records of a rank that `which`
  /// chooses. Returns how many there are.
  int spoil(int rank,
            const std::function<bool(const Record& record, std::fstream& data)>& which) const {
    int spoilt = 0;
    for (const fs::path& folder : {disk(rank), disk(rank) / "quick"}) {
      const std::string prefix = (folder / ("run." + std::to_string(rank))).string();
      std::fstream data(prefix + ".data", std::ios::in | std::ios::out | std::ios::binary);
      const Inspection found = inspect(prefix + ".journal", false);
      for (const Record& record : found.ranks.at(0).states) {
        if (!which(record, data)) continue;
        const Count skip = is_parity(record.id.kind) ? record.parts.at(0).stored_bytes() : 0;
        std::string bytes(static_cast<std::size_t>(record.bytes - skip), 0);
        data.seekg(record.place + skip);
        data.read(bytes.data(), std::ssize(bytes));
        for (char& byte : bytes) byte = static_cast<char>(~byte);
        data.seekp(record.place + skip);
        data.write(bytes.data(), std::ssize(bytes));
        ++spoilt;
      }
    }
    return spoilt;
  }
  static auto has_id(Kind kind, Count step) {
    return [=](const Record& record, std::fstream&) { return record.id == StateId{kind, step}; };
  }
  static bool is_segment_of_two(const Record& record, std::fstream& data) {
    if (!is_parity(record.id.kind)) return false;
    std::vector<std::byte> table(static_cast<std::size_t>(record.parts.at(0).stored_bytes()));
    data.seekg(record.place);
    data.read(reinterpret_cast<char*>(table.data()), std::ssize(table));
    return parse_table(table).members.size() == 2;
  }
  /// Returns whether the report has a line with these words.
  static bool tells(Program& program, const std::string& words) {
    const std::vector<std::string>& lines = program.store.account().reasons;
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }

  static void push_and_sync(Program& program) {
    for (const Count step : {1, 2, 3, 5, 8, 13}) program.push(step);
    program.push(40, 0, Kind::adjoint);
    program.store.sync();
    program.push(21);  // killed before the next sync
  }
  static void expect_all(Program& program) {
    EXPECT_EQ(program.steps(), (std::vector<Count>{1, 2, 3, 5, 8, 13}));
    for (const Count step : {1, 2, 3, 5, 8, 13}) program.expect(step);
    program.expect(40, 0, Kind::adjoint);
  }

  fs::path folder_;
};

TEST_F(ParityTest, the_states_of_any_lost_rank_come_back_bit_for_bit) {
  run(push_and_sync);
  for (int lost = 0; lost < ranks; ++lost) {
    lose(lost);
    // Parity is whole again after each opening, so the next rank may be lost at once.
    run([&](Program& program) {
      expect_all(program);
      EXPECT_TRUE(tells(program, "files of ranks " + std::to_string(lost) + " were lost"));
    });
  }
  lose(2);
  run([](Program& program) { expect_all(program); }, "none");  // who reads needs no setting
  // Its session is still not the one that segments name, but nothing is missing.
  run(
      [](Program& program) {
        expect_all(program);
        EXPECT_FALSE(tells(program, "were lost"));
      },
      "none");
}

TEST_F(ParityTest, what_is_damaged_costs_its_own_state_alone_and_is_told) {
  run(push_and_sync);
  EXPECT_EQ(spoil(0, has_id(Kind::parity, 5)), 1);
  EXPECT_EQ(spoil(2, has_id(Kind::state, 8)), 1);
  for (const int lost : {1, 2}) {
    lose(lost);
    run([&](Program& program) {
      EXPECT_EQ(program.steps(), (std::vector<Count>{1, 2, 3, 13}));
      for (const Count step : {1, 2, 3, 13}) program.expect(step);
      program.expect(40, 0, Kind::adjoint);
      if (lost == 2) return;  // after the first opening all is whole
      EXPECT_EQ(program.store.damage().size(), program.rank == 1 ? 2U : 0U);
      for (const char* state : {"state 5", "state 8"})
        EXPECT_TRUE(tells(program, std::string("rank 1: parity does not give back ") + state));
    });
  }
}

TEST_F(ParityTest, nothing_is_dropped_where_nothing_comes_back) {
  run(push_and_sync);
  const auto any_parity = [](const Record& record, std::fstream&) {
    return is_parity(record.id.kind);
  };
  EXPECT_EQ(spoil(3, any_parity), 7);
  fs::rename(disk(1), folder_ / "kept");
  for (int again = 0; again < 2; ++again) {
    make_disk(1);
    const auto failed = attempt_to([&] { run([](Program&) {}); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::ebadlog) << failed->what();
  }
  fs::remove_all(disk(1));
  fs::rename(folder_ / "kept", disk(1));
  run([](Program& program) { expect_all(program); });
}

// One set of the new job has made its parity when the other one fails, with new segments of some
// states. A power failure may have left these without their bytes.
TEST_F(ParityTest, a_failed_change_of_sets_leaves_the_parity_that_was_there) {
  // Groups are tried in the order of their random numbers, so this is played several times.
  for (const bool spoils : {false, true, true, true}) {
    for (int lost = 0; lost < ranks; ++lost) {
      for (int rank = 0; rank < ranks; ++rank) lose(rank);
      run(push_and_sync);
      const auto failed = run_with(
          "pwrite:rank=1:call=9:errno=EIO:from", [](Program& program) { program.store.sync(); },
          "xor:2");
      ASSERT_TRUE(failed);
      int spoilt = 0;
      for (int rank = 0; spoils && rank < ranks; ++rank) spoilt += spoil(rank, is_segment_of_two);
      EXPECT_TRUE(!spoils || spoilt > 14);  // of one set all, of the other one some
      lose(lost);
      run([](Program& program) { expect_all(program); });
    }
  }
}

// A kill, or a failing call, leaves the new group on some ranks and the old one on another.
TEST_F(ParityTest, a_group_that_not_all_have_is_made_anew) {
  run(push_and_sync);
  for (int call = 1; call < 14; call = forebay_test::next_place(call, 2, 14)) {
    lose(1);
    const auto failed =
        run_with("pwrite:rank=2:call=" + std::to_string(call) + ":errno=EIO:from", [](Program&) {});
    EXPECT_TRUE(failed);
    run([](Program& program) { expect_all(program); });
    lose(3);
    run([](Program& program) { expect_all(program); });
  }
}

TEST_F(ParityTest, a_failing_read_at_the_opening_leaves_all_for_the_next_one) {
  run(push_and_sync);
  int failures = 0;
  const auto tried = forebay_test::try_places(1, 1, [&](long call) {
    lose(static_cast<int>(call % 2));  // which rank 2 helps
    const auto failed =
        run_with("pread:rank=2:call=" + std::to_string(call) + ":errno=EIO", [](Program&) {});
    if (failed) ++failures;
    run([](Program& program) { expect_all(program); });
    return failed.has_value();
  });
  EXPECT_GT(tried.end, 20);
  EXPECT_GT(failures, 3);
}

// Without a loss parity is no reason for an error: what cannot be read is made again.
TEST_F(ParityTest, states_are_found_though_parity_cannot_be_read) {
  run(push_and_sync);
  int told = 0;
  for (int call = 1; call < 12; ++call) {
    const auto failed =
        run_with("pread:rank=2:call=" + std::to_string(call) + ":errno=EIO", [&](Program& program) {
          EXPECT_EQ(program.steps().size(), 6U);
          if (program.rank == 0 && tells(program, "rank 2: ")) ++told;
          program.store.sync();
        });
    if (failed) continue;  // a journal cannot be read
    lose(call % ranks);
    run([](Program& program) { expect_all(program); });
  }
  EXPECT_GT(told, 2);
}

#ifdef FOREBAY_FAILING_MEMORY

TEST_F(ParityTest, a_rank_without_memory_leaves_nobody_waiting_in_a_sync) {
  int failures = 0;
  const auto tried = forebay_test::try_places(0, 1, [&](long allocation) {
    const auto who = static_cast<int>(allocation % ranks);
    for (int rank = 0; rank < ranks; ++rank) lose(rank);
    bool is_over = true;
    run([&](Program& program) {
      for (const Count step : {1, 2, 3}) program.push(step);
      program.store.sync();
      program.push(4);
      auto& memory = FailingMemory::mine();
      memory.begin(program.rank == who ? allocation : -1);
      const auto failed = attempt_to([&] {
        const FailingMemory::Armed armed;
        program.store.sync();
      });
      if (program.rank != who) return;
      is_over = !memory.has_failed;
      failures += failed.has_value();
      memory.begin(-1);
    });
    lose(static_cast<int>(allocation / ranks % ranks));
    run([](Program& program) {
      for (const Count step : {1, 2, 3}) program.expect(step);
    });
    return !is_over;
  });
  EXPECT_GT(tried.end, 50);
  EXPECT_GT(failures, 3);
}

TEST_F(ParityTest, a_rank_without_memory_leaves_nobody_waiting_at_the_opening) {
  run(push_and_sync);
  int failures = 0;
  const auto tried = forebay_test::try_places(0, 3, [&](long allocation) {
    const auto who = static_cast<int>(allocation % ranks);
    lose(static_cast<int>(allocation / ranks % ranks));
    bool is_over = true;
    const auto failed = attempt_to([&] {
      run_as_threads(ranks, [&](const Comm& comm) {
        const Method its = method(comm.rank());
        auto& memory = FailingMemory::mine();
        memory.begin(comm.rank() == who ? allocation : -1);
        std::optional<Store> store;
        const auto mine = attempt_together(comm, [&] {
          const FailingMemory::Armed armed;
          store.emplace(comm, "run", its);
        });
        if (comm.rank() == who) is_over = !memory.has_failed;
        memory.begin(-1);
        if (mine) throw *mine;
      });
    });
    failures += failed.has_value();
    run([](Program& program) { expect_all(program); });
    return !is_over;
  });
  EXPECT_GT(tried.end, 100);
  EXPECT_GT(failures, 3);
}

#endif

TEST_F(ParityTest, a_lost_quick_disk_alone_comes_back) {
  run(push_and_sync);
  fs::remove_all(disk(1) / "quick");
  make_disk(1);
  run([](Program& program) { expect_all(program); });
}

TEST_F(ParityTest, parity_that_is_older_than_a_state_makes_nothing) {
  run([](Program& program) {
    for (const Count step : {1, 2, 3}) program.push(step);
    program.store.sync();
    program.push(1, 1);                         // on all ranks
    if (program.rank == 3) program.push(2, 1);  // a kill came before the others did
  });
  lose(0);
  run([](Program& program) {
    EXPECT_EQ(program.steps(), (std::vector<Count>{3}));
    program.expect(3);
    program.push(1, 2);
    program.store.sync();
  });
  lose(1);
  run([](Program& program) {
    EXPECT_EQ(program.steps(), (std::vector<Count>{1, 3}));
    program.expect(1, 2);
    program.expect(3);
  });
}

TEST_F(ParityTest, two_lost_ranks_of_a_set_are_an_error_and_nothing_is_dropped) {
  run(push_and_sync);
  const fs::path kept = folder_ / "kept";
  fs::rename(disk(1), kept);
  make_disk(1);
  fs::rename(disk(2), folder_ / "kept2");
  make_disk(2);
  for (int again = 0; again < 2; ++again) {
    const auto failed = attempt_to([&] { run([](Program&) {}); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::einval) << failed->what();
  }
  fs::remove_all(disk(1));
  fs::rename(kept, disk(1));
  run([](Program& program) { expect_all(program); });
}

TEST_F(ParityTest, sets_are_of_as_many_ranks_as_there_are) {
  run(push_and_sync, "xor:2");
  lose(0);
  lose(1);  // in the other set
  run([](Program& program) { expect_all(program); }, "xor:2");
  // A job may go on with other sets.
  run([](Program& program) { program.store.sync(); }, "xor:16");
  lose(3);
  run([](Program& program) { expect_all(program); }, "xor:16");
}

TEST_F(ParityTest, ranks_of_one_node_are_refused) {
  const auto failed = attempt_to([&] {
    run_as_threads(3, [&](const Comm& comm) {
      Method its = method(comm.rank());
      its.ranks_per_node = 2;
      const Store store(comm, "run", its);
    });
  });
  ASSERT_TRUE(failed);
  EXPECT_NE(std::string(failed->what()).find("more than half of the ranks are on one node"),
            std::string::npos)
      << failed->what();
  EXPECT_FALSE(fs::exists(disk(0) / "run.0.journal"));
}

TEST_F(ParityTest, parity_goes_with_its_state_and_is_counted_as_room) {
  run([&](Program& program) {
    const std::vector<Count> empty = program.store.free_bytes();
    for (Count step = 0; step < 20; ++step) program.push(step);
    program.store.sync();
    for (Count step = 19; step >= 0; --step) ASSERT_EQ(program.store.pop(), step);
    program.store.sync();
    EXPECT_EQ(program.store.free_bytes(), empty);
    for (Count step = 0; step < 3; ++step) program.push(step);
    program.store.close(true);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    std::map<Kind, int> kinds;
    for (const fs::path& folder : {disk(rank), disk(rank) / "quick"}) {
      const std::string journal = (folder / ("run." + std::to_string(rank) + ".journal")).string();
      const Inspection found = inspect(journal, true);
      EXPECT_TRUE(found.ranks.at(0).damage.empty());
      for (const Record& record : found.ranks.at(0).states) ++kinds[record.id.kind];
    }
    EXPECT_EQ(kinds[Kind::state], 3);
    EXPECT_EQ(kinds[Kind::parity], 3);
  }
}

TEST_F(ParityTest, a_state_finds_no_room_where_its_parity_would_have_none) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Method its = method(comm.rank());
    its.checkpoint_memory = 0;
    its.checkpoint_dir_bytes = 60'000;
    its.codec = "none";
    Program program(comm, its);
    std::optional<Error> failed;
    for (Count step = 0; !failed && step < 1000; ++step)
      failed = attempt_to([&] { program.push(step); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::eno_space) << failed->what();
    EXPECT_GT(program.store.count(Kind::state), 5U);
    program.store.sync();
  });
}

// Calls of one rank fail, and all others learn of it; then the disk of some rank is lost. What a
// sync had completed is there.
TEST_F(ParityTest, failing_calls_leave_what_the_last_sync_had) {
  constexpr int failing = 2;
  int done = 0, broken = 0;
  for (int call = 1; call < 25; call = forebay_test::next_place(call, 1, 25)) {
    for (const char* name : {"pwrite", "fsync", "pread"}) {
      for (const int lost : {failing, (failing + 1 + call % (ranks - 1)) % ranks}) {
        for (int rank = 0; rank < ranks; ++rank) lose(rank);
        run([&](Program& program) {
          for (const Count step : {1, 2, 3}) program.push(step);
          program.store.sync();
        });
        const auto failed = run_with(
            std::string(name) + ":rank=" + std::to_string(failing) +
                ":call=" + std::to_string(call) + ":errno=EIO:from",
            [](Program& program) {
              std::optional<Error> first;  // whoever fails goes on with what all do together
              attempt_into(first, [&] { program.push(4); });
              attempt_into(first, [&] { program.store.sync(); });
              attempt_into(first, [&] { program.store.drop({Kind::state, 1}); });
              attempt_into(first, [&] { program.push(5); });
              attempt_into(first, [&] { program.store.sync(); });
              if (first) throw *first;
            });
        ++(failed ? broken : done);
        lose(lost);
        run([&](Program& program) {
          // No segment was kept that lacks what the failing rank did not send.
          EXPECT_TRUE(program.store.damage().empty()) << program.store.damage()[0];
          for (const Count step : {2, 3}) program.expect(step);
          if (!failed)
            for (const Count step : {4, 5}) program.expect(step);
        });
      }
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(broken, 0);
}

// The setting for failing system calls is read once (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);

}  // namespace parity_ranks_test
}  // namespace forebay::checkpoint
