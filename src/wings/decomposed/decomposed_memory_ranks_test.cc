// In the life of a file with two groups, one rank runs out of memory at one place after another.
// All ranks get an error, no rank waits for ever for another one of its group, and successfully
// written data is in the file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/failing_memory_testing.h"
#include "comm/thread_ranks.h"
#include "dataset/decompositions.h"
#include "decomposed/data_file.h"
#include "support/cases.h"

#ifdef FOREBAY_FAILING_MEMORY

namespace forebay {
namespace decomposed_memory_ranks_test {

constexpr int ranks = 4, records = 4;
constexpr Count width = 20;  // of each rank
enum Vars : VarId { mapped, plain };

struct Case {
  const char* name;
  HintMap hints;
  bool classic;  // one variable is classic
  long stride;   // not every allocation fails: each try takes some milliseconds
};

char now[200];  // the present case

extern "C" void say_where(int) {
  [[maybe_unused]] const auto told =
      ::write(STDERR_FILENO, now, std::char_traits<char>::length(now));
  std::abort();
}

struct Outcome {
  bool hit = false;  ///< an allocation failed
  int failed = 0;    ///< failed calls
};

/// One rank's program.
class Program {
 public:
  Program(const Case& one, const std::string& path, const Comm& comm)
      : case_(one), path_(path), comm_(comm), beside_(comm.split_node(0)) {}

  void run() {
    if (!create()) return;
    write(0);
    write(1);
    if (step([&] { ds_->redef(); })) {
      const bool more = here([&] { ds_->def_var("more", Type::int32, std::array{time_, x_}); });
      if (!more || !step([&] { ds_->enddef(); })) return close();
    }
    if (here([&] { ds_->begin_independent(); })) {
      if (comm_.rank() % 2 == 0) alone_ = attempt([&] { put(mapped, 2, false); });
      const bool all = step([&] { ds_->end_independent(); });
      alone_ = alone_ && all;
      if (alone_) note(mapped, 2);
    }
    step([&] { ds_->sync(); });
    close();
    if (step([&] { ds_ = Dataset::open(comm_, path_, true, case_.hints); })) {
      read();
      write(3);
      close();
    }
  }

  bool defined() const { return defined_; }
  int failed() const { return failed_; }

  /// Checks the file with a single reader at the end.
  void check(Dataset& ds, const std::array<std::int64_t, 4>& surely, Rank rank) const {
    for (const VarId var : {mapped, plain})
      for (Count record = 0; record < std::min<Count>(records, ds.schema().numrecs); ++record) {
        std::vector<std::int32_t> values(width);
        std::vector<Request> list;
        list.push_back(request(var, record, values, false, rank));
        ds.execute(list, true);
        const bool sure = (surely[static_cast<std::size_t>(var)] >> record & 1) != 0;
        for (Count i = 0; i < width; ++i) check(var, record, rank, i, values, sure);
      }
    for (const VarId var : {mapped, plain})
      EXPECT_LT(surely[static_cast<std::size_t>(var)], 1LL << ds.schema().numrecs) << now;
  }
  /// Returns bits of the records that this rank has certainly written.
  const std::array<std::int64_t, 4>& surely() const { return surely_; }

 private:
  static std::int32_t value(VarId var, Count record, Count element) {
    return static_cast<std::int32_t>(1 + 10000 * var + 1000 * record + element);
  }
  static void check(VarId var, Count record, Rank rank, Count i,
                    const std::vector<std::int32_t>& values, bool sure) {
    constexpr std::int32_t fill = -2147483647;
    const auto found = values[static_cast<std::size_t>(i)];
    const auto wanted = value(var, record, rank * width + i);
    EXPECT_TRUE(found == wanted || (!sure && found == fill))
        << now << "variable " << var << ", record " << record << ", rank " << rank << ": " << found;
  }

  template <typename F>
  static bool attempt(F&& f) {
    return !attempt_to([&] {
      const FailingMemory::Armed armed;
      f();
    });
  }
  /// Makes a call that must have the same outcome on all ranks.
  template <typename F>
  bool step(F&& f) {
    const bool done = attempt(f);
    const bool all = beside_.all_reduce(done, Reduce::min) != 0;
    EXPECT_TRUE(all || beside_.all_reduce(done, Reduce::max) == 0)
        << now << "rank " << comm_.rank() << (done ? " succeeded alone" : " failed alone");
    if (!all) ++failed_;
    return all;
  }
  /// Makes a local call. Returns whether all ranks succeeded.
  template <typename F>
  bool here(F&& f) {
    return beside_.all_reduce(attempt(f), Reduce::min) != 0;
  }

  static Request request(VarId var, Count record, std::vector<std::int32_t>& values, bool write,
                         Rank rank) {
    Request r;
    r.var = var;
    r.write = write;
    r.selection = Subarray{{record, rank * width}, {1, width}, {}};
    r.last_record = record + 1;
    r.elements = width;
    r.memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
    return r;
  }
  void note(VarId var, Count record) { surely_[static_cast<std::size_t>(var)] |= 1LL << record; }

  bool create() {
    if (!step([&] { ds_ = Dataset::create(comm_, path_, 5, false, case_.hints); })) return false;
    const Count start = comm_.rank() * width, count = width;
    const Count *const starts = &start, *const counts = &count;
    // Definitions are local, and the same on all ranks. If they fail, they are given up.
    bool all = here([&] {
      time_ = ds_->def_dim("time", 0);
      x_ = ds_->def_dim("x", ranks * width);
      ds_->def_decomposition(make_decomposition(*ds_, std::array{x_}, {1, &starts, &counts}));
      ds_->def_var_by("mapped", Type::int32, std::array{time_}, 0);
      ds_->def_var("plain", Type::int32, std::array{time_, x_});
      if (case_.classic) ds_->def_var("classic", Type::int32, std::array{time_});
    });
    all = all && step([&] { ds_->enddef(); });
    if (!all) {
      step([&] { ds_->abort(); });
      return false;
    }
    return defined_ = true;
  }

  void put(VarId var, Count record, bool collective) {
    std::vector<std::int32_t> values(width);
    std::vector<Request> list;
    for (Count i = 0; i < width; ++i)
      values[static_cast<std::size_t>(i)] = value(var, record, comm_.rank() * width + i);
    list.push_back(request(var, record, values, true, comm_.rank()));
    ds_->execute(list, collective);
  }

  // A rank that cannot make its request takes part without it.
  void write(Count record) {
    for (const VarId var : {mapped, plain}) {
      std::vector<std::int32_t> values(width);
      std::vector<Request> list;
      for (Count i = 0; i < width; ++i)
        values[static_cast<std::size_t>(i)] = value(var, record, comm_.rank() * width + i);
      list.push_back(request(var, record, values, true, comm_.rank()));
      const bool done = attempt([&] { ds_->execute(list, true); });
      if (done && !behind()) note(var, record);
      if (!done) ++failed_;
      beside_.barrier();
    }
  }

  void read() {
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::vector<std::int32_t> values(width);
      std::vector<Request> list;
      list.push_back(request(mapped, 0, values, false, rank));
      if (ds_->schema().numrecs == 0) continue;
      if (!attempt([&] { ds_->execute(list, true); })) continue;
      for (Count i = 0; i < width; ++i)
        check(mapped, 0, rank, i, values, rank == comm_.rank() && (surely_[mapped] & 1) != 0);
    }
  }

  bool behind() const { return case_.hints.contains("stage"); }

  void close() {
    step([&] { ds_->close(); });
    ds_.reset();
  }

  const Case& case_;
  const std::string& path_;
  const Comm& comm_;
  const Comm beside_;  // for the test only
  std::unique_ptr<Dataset> ds_;
  DimId time_ = 0, x_ = 0;
  bool defined_ = false, alone_ = false;
  std::array<std::int64_t, 4> surely_{};
  int failed_ = 0;
};

Outcome play(const Case& one, const std::string& path, Rank who, long first, long every) {
  std::snprintf(now, sizeof now, "%s: rank %d without memory at %ld, every %ld: ", one.name, who,
                first, every);
  ::alarm(30);
  Outcome outcome;
  run_as_threads(ranks, [&](const Comm& comm) {
    auto& memory = FailingMemory::mine();
    memory.begin(comm.rank() == who ? first : -1, every);
    Program program(one, path, comm);
    program.run();
    if (comm.rank() == who) outcome.hit = memory.has_failed;
    if (comm.rank() == who) outcome.failed = program.failed();
    const Comm checking = comm.split_node(0);
    const bool defined = checking.all_reduce(program.defined(), Reduce::min) != 0;
    if (!defined) return;
    for (Rank rank = 0; rank < ranks; ++rank) {
      auto surely = program.surely();
      checking.broadcast(&surely, sizeof surely, rank);
      if (comm.rank() != 0) continue;
      auto ds = Dataset::open(Comm(), path, false, {});
      program.check(*ds, surely, rank);
      ds->close();
    }
  });
  ::alarm(0);
  return outcome;
}

std::vector<Case> cases() {
  const HintMap groups{{"layout", "decomposed"}, {"subfiling", "ranks"}, {"subfile_ranks", "2"}};
  const auto with = [&](HintMap more) {
    more.insert(groups.begin(), groups.end());
    return more;
  };
  return {{"all decomposed", groups, false, 13},
          {"one classic", groups, true, 61},
          {"codec", with({{"codec", "shuffle,zstd:1"}}), false, 61},
          {"posix", with({{"transport", "posix"}}), false, 61},
          {"messages", with({{"buffer_limit", "4k"}}), false, 13},
          {"async", with({{"stage", "async"}}), false, 61}};
}

// Each case is a test, so that tests can run in parallel.
class DecomposedMemoryCases : public testing::TestWithParam<Case> {};

TEST_P(DecomposedMemoryCases, a_rank_without_leaves_nobody_waiting_in_its_group) {
  const Case& one = GetParam();
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("forebay_decomposed_memory_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "file.nc";
  const auto before = std::signal(SIGALRM, say_where);
  long all = 0, failed = 0;
  for (Rank who = 0; who < ranks; ++who) {
    const auto tried = forebay_test::try_places(who, one.stride, [&](long n) {
      const Outcome outcome = play(one, path, who, n, n % 3 == 2 ? 1 + n % 97 : 0);
      failed += outcome.failed > 0;
      return outcome.hit && n < 20000;
    });
    all += tried.places;
    EXPECT_GT(tried.end, 500) << one.name;
  }
  EXPECT_GT(failed, all / 10) << one.name;
  std::signal(SIGALRM, before);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, DecomposedMemoryCases, testing::ValuesIn(cases()),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// The state is removed last, and stays as long as a data file does, since it says whose that is.
TEST(DecomposedMemory, data_files_that_could_not_be_removed_go_the_next_time) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("forebay_decomposed_removal_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "file.nc";
  bool hit = true;
  for (long n = 0; hit && !HasFailure(); ++n) {
    auto ds = Dataset::create(Comm(), path, 5, false, {{"layout", "decomposed"}});
    ds->def_var("v", Type::int32, std::array{ds->def_dim("x", 100)});
    ds->enddef();
    ds->close();
    EXPECT_TRUE(std::filesystem::exists(decomposed::data_path(path, 0)));
    auto& memory = FailingMemory::mine();
    memory.begin(n);
    {
      const FailingMemory::Armed armed;
      decomposed::remove_data_files(path, std::nullopt);
    }
    hit = memory.has_failed;
    memory.begin(-1);
    decomposed::remove_data_files(path, std::nullopt);
    EXPECT_FALSE(std::filesystem::exists(decomposed::folder_of(path))) << n;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace decomposed_memory_ranks_test
}  // namespace forebay

#endif
