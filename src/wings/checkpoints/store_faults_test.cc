// System calls fail at every place of a random program. A store has all states that it lists, and
// kept states are found again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "checkpoints/checkpoint_store.h"
#include "support/cases.h"

namespace forebay::checkpoint {
namespace store_faults_test {

namespace fs = std::filesystem;

// The setting for failing system calls is read once (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);
void fail(const std::string& plan) { ::setenv("FOREBAY_FAULT", plan.c_str(), 1); }

constexpr Count elements = 200;

class StoreFaults : public testing::Test {
 protected:
  void SetUp() override {
    // There are thousands of syncs, so the files are in memory if it has a folder.
    const fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string name = (parent / "forebay_faults_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directory(folder_ / "quick");
  }
  void TearDown() override {
    fail("none");
    fs::remove_all(folder_);
  }

  Method method(std::uint64_t seed) const {
    Method method;
    method.checkpoint_memory = seed % 3 == 0 ? 0 : 4000;
    method.checkpoint_dir = folder_.string();
    if (seed % 2 == 0) method.checkpoint_fast = (folder_ / "quick").string();
    method.checkpoint_fast_bytes = 5000;
    method.codec = seed % 5 == 0 ? "zstd:1" : "none";
    return method;
  }

  void fill(int version) {
    for (std::size_t i = 0; i < field_.size(); ++i) field_[i] = 1000.0 * version + double(i);
  }
  /// The version that the field has; below 0: none.
  int version() const {
    const int found = static_cast<int>(field_[0] / 1000);
    for (std::size_t i = 0; i < field_.size(); ++i)
      if (field_[i] != 1000.0 * found + double(i)) return -1;
    return found;
  }

  /// Checks all steps that the store lists.
  std::map<Count, int> contents(Store& store) {
    std::map<Count, int> found;
    for (const StateInfo& state : store.list()) {
      field_.assign(field_.size(), -1);
      store.peek(state.id);
      found[state.id.step] = version();
    }
    return found;
  }

  /// Runs the program of `seed`. Returns whether it got an error.
  bool run(std::uint64_t seed, const std::string& plan) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::map<Count, int> wanted;
    bool told = false, closed = true, loses = false;
    int last = 0;
    {
      Store store({}, "run", method(seed));
      store.add_variable("x", Type::float64, {elements}, {}, field_.data());
      fail(plan);
      for (int op = 0; op < 25; ++op) {
        const Count step = any(6);
        std::optional<Error> failed;
        switch (any(6)) {
          case 0:
          case 1:
          case 2:
            fill(++last);
            failed = attempt_to([&] { store.push({Kind::state, step}); });
            if (!failed) wanted[step] = last;
            break;
          case 3:
            if (!wanted.contains(step)) break;
            failed = attempt_to([&] { store.drop({Kind::state, step}); });
            if (!failed) wanted.erase(step);
            break;
          case 4:
            if (wanted.empty()) break;
            failed = attempt_to([&] { EXPECT_EQ(store.pop(), wanted.rbegin()->first); });
            if (failed) break;
            EXPECT_EQ(version(), wanted.rbegin()->second);
            wanted.erase(wanted.rbegin()->first);
            break;
          default:
            failed = attempt_to([&] { store.sync(); });
        }
        told |= failed.has_value();
      }
      fail("none");
      EXPECT_EQ(contents(store), wanted);
      // The thread reports a failed move once, and then repeats it.
      if (const auto failed = attempt_to([&] { store.sync(); })) {
        told = true;
        // Files that may have lost bytes are not synced again before they are opened anew.
        loses = attempt_to([&] { store.sync(); }).has_value();
        EXPECT_TRUE(!loses || plan.starts_with("fsync")) << failed->what();
      }
      const auto failed = attempt_to([&] { store.close(true); });
      closed = !failed;
    }
    EXPECT_EQ(closed, !loses);
    Store again({}, "run", method(seed));
    again.add_variable("x", Type::float64, {elements}, {}, field_.data());
    EXPECT_TRUE(again.damage().empty());
    if (closed) {
      EXPECT_EQ(contents(again), wanted);
    } else {
      // States that were in memory alone may be missing, as close() has told.
      for (const auto& [step, found] : contents(again))
        EXPECT_TRUE(wanted.contains(step) && wanted.at(step) == found) << step;
    }
    again.close(false);
    return told;
  }

  fs::path folder_;
  std::vector<double> field_ = std::vector<double>(elements);
};

TEST_F(StoreFaults, cost_no_state_that_was_pushed) {
  int failures = 0;
  for (int seed = 0; seed < 12; seed = forebay_test::next_place(seed, 1, 12))
    for (const std::string call : {"pwrite", "open", "fsync", "pread"})
      for (const std::string from : {"", ":from"})
        for (int number = 1, quiet = 0; quiet < 4; ++number) {
          const std::string plan =
              call + ":rank=0:call=" + std::to_string(number) + ":errno=ENOSPC" + from;
          SCOPED_TRACE("seed " + std::to_string(seed) + ", " + plan);
          const bool told = run(seed, plan);
          if (HasFailure()) return;
          failures += told ? 1 : 0;
          // A failed drop may not be reported, and a push may succeed in retired space.
          quiet = told ? 0 : quiet + 1;
        }
  EXPECT_GT(failures, forebay_test::few_of(200));
}

}  // namespace store_faults_test
}  // namespace forebay::checkpoint
