// Power failures. Of what was written to a file since its last sync, the device may have all or
// nothing, whatever it has of other files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/checkpoint_store_testing.h"

namespace forebay::checkpoint {
namespace store_power_test {

namespace fs = std::filesystem;

// The setting for failing system calls is read once (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);

constexpr Count elements = 100, state_bytes = 800;

class StorePower : public testing::Test {
 protected:
  void SetUp() override {
    before_each_sync([this](const fs::path& path) {
      const std::lock_guard lock(copying_);
      std::error_code gone;
      if (path.extension() == ".data" || path.extension() == ".journal")
        fs::copy_file(path, path.string() + ".stored", fs::copy_options::overwrite_existing, gone);
    });
  }
  void TearDown() override { before_each_sync({}); }

  void declare(Store& store) {
    store.add_variable("x", Type::float64, {elements}, {}, field_.data());
  }
  void push(Store& store, Count step, int version) {
    for (std::size_t i = 0; i < field_.size(); ++i) field_[i] = 1000.0 * version + double(i);
    store.push({Kind::state, step});
  }
  /// The version that the field has; below 0: none.
  int version() const {
    const int found = static_cast<int>(field_[0] / 1000);
    for (std::size_t i = 0; i < field_.size(); ++i)
      if (field_[i] != 1000.0 * found + double(i)) return -1;
    return found;
  }

  /// Returns the versions by step, below 0 for a damaged state, that are found after a power
  /// failure. Nothing may be moving.
  std::map<Count, int> after_power_failure(const Folder& folder, Count fast) {
    const Folder after(parent_);
    std::unique_lock lock(copying_);  // the thread that moves states syncs, too
    for (const std::string file :
         {"quick/run.0.data", "quick/run.0.journal", "slow/run.0.data", "slow/run.0.journal"}) {
      if (!fs::exists(folder.path / file)) continue;
      const std::string stored = file + ".stored";
      if (random_() % 2 == 0)
        fs::copy_file(folder.path / file, after.path / file);
      else if (fs::exists(folder.path / stored))
        fs::copy_file(folder.path / stored, after.path / file);
      else
        std::ofstream(after.path / file).flush();
    }
    lock.unlock();
    std::map<Count, int> found;
    Store store({}, "run", after.method(0, fast));
    declare(store);
    for (const StateInfo& state : store.list()) {
      field_.assign(field_.size(), -1);
      const auto failed = attempt_to([&] { store.peek(state.id); });
      found[state.id.step] = failed ? -1 : version();
    }
    store.close(false);
    return found;
  }

  // There are thousands of syncs, so the files are in memory if it has a folder.
  const fs::path parent_ = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
  std::mutex copying_;
  std::mt19937 random_;
  std::vector<double> field_ = std::vector<double>(elements);
};

using Versions = std::map<Count, std::set<int>>;

TEST_F(StorePower, leaves_each_synced_state_or_what_replaced_it) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    random_.seed(seed);
    const Folder folder(parent_);
    const Count fast = seed % 2 == 0 ? -1 : 2 * state_bytes + 100;
    Method method = folder.method(0, fast);
    if (seed % 3 == 0) method.checkpoint_dir_bytes = 7 * state_bytes;
    Store store({}, "run", method);
    declare(store);
    std::map<Count, int> there;
    Versions kept, gone;  // since the last sync: replaced or not, and dropped
    int last = 0;
    for (int op = 0; op < 60; ++op) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(op));
      const auto step = static_cast<Count>(random_() % 6);
      switch (random_() % 6) {
        case 0:
        case 1:
        case 2:
          ++last;
          if (attempt_to([&] { push(store, step, last); })) break;  // no room
          there[step] = last;
          if (kept.contains(step)) kept[step].insert(last);
          gone.erase(step);
          break;
        case 3:
        case 4:
          if (there.erase(step) == 0) break;
          store.drop({Kind::state, step});
          if (kept.contains(step)) gone[step] = kept[step];
          kept.erase(step);
          break;
        default:
          store.sync();
          kept.clear();
          gone.clear();
          for (const auto& [at, version] : there) kept[at] = {version};
      }
      store.free_bytes();  // once nothing moves
      const auto found = after_power_failure(folder, fast);
      for (const auto& [at, versions] : kept)
        ASSERT_TRUE(found.contains(at) && versions.contains(found.at(at))) << "step " << at;
      for (const auto& [at, versions] : gone)
        ASSERT_TRUE(!found.contains(at) || versions.contains(found.at(at))) << "step " << at;
    }
  }
}

TEST_F(StorePower, states_that_a_killed_program_dropped_come_back_whole_if_at_all) {
  const Folder folder(parent_);
  const Method method = folder.method(0);
  {
    Store store({}, "run", method);
    declare(store);
    for (int step = 0; step < 3; ++step) push(store, step, step);
    store.sync();
    store.drop({Kind::state, 1});
  }  // killed
  Store again({}, "run", method);
  declare(again);
  push(again, 7, 7);
  for (int tries = 0; tries < 8; ++tries) {
    const auto found = after_power_failure(folder, -1);
    EXPECT_TRUE(found.contains(0) && found.at(0) == 0);
    EXPECT_TRUE(found.contains(2) && found.at(2) == 2);
    EXPECT_TRUE(!found.contains(1) || found.at(1) == 1);
  }
}

// Retired space is freed by a sync, the program's or one that its lack takes.
TEST_F(StorePower, space_of_synced_states_is_used_again) {
  for (const Count states : {3, 0}) {
    const Folder folder(parent_);
    Method method = folder.method(0);
    method.checkpoint_dir_bytes = states * state_bytes;
    Store store({}, "run", method);
    declare(store);
    int step = 0;
    for (; step < 3; ++step) push(store, step, step);
    for (int round = 0; round < 40; ++round, ++step) {
      if (round % 5 == 0) store.sync();
      store.drop({Kind::state, step - 3});
      ASSERT_FALSE(attempt_to([&] { push(store, step, step); })) << round;
    }
    const auto most = static_cast<std::uintmax_t>((states > 0 ? states : 7) * state_bytes);
    EXPECT_LE(fs::file_size(folder.path / "slow/run.0.data"), most);
    for (int last = step - 1; last >= step - 3; --last) {
      EXPECT_EQ(store.pop(), last);
      EXPECT_EQ(version(), last);
    }
    store.close(false);
  }
}

TEST_F(StorePower, a_disk_that_is_full_takes_what_has_room_in_retired_space) {
  const Folder folder(parent_);
  Store store({}, "run", folder.method(0));
  declare(store);
  for (int step = 0; step < 2; ++step) push(store, step, step);
  store.sync();
  store.drop({Kind::state, 0});
  ::setenv("FOREBAY_FAULT", "pwrite:rank=0:call=1:errno=ENOSPC", 1);
  const auto failed = attempt_to([&] { push(store, 2, 2); });
  ::setenv("FOREBAY_FAULT", "none", 1);
  EXPECT_FALSE(failed);
  EXPECT_EQ(fs::file_size(folder.path / "slow/run.0.data"), 2U * state_bytes);
  EXPECT_EQ(store.pop(), 2);
  EXPECT_EQ(version(), 2);
  store.close(false);
}

}  // namespace store_power_test
}  // namespace forebay::checkpoint
