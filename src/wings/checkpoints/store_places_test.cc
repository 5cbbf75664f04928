// Stores of programs that change their folder, or whose folder is renamed or removed, and stores
// that are never closed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/checkpoint_store_testing.h"
#include "checkpoints/inspect.h"

namespace forebay::checkpoint {
namespace store_places_test {

namespace fs = std::filesystem;

/// The test's own current directory.
class Going {
 public:
  explicit Going(const fs::path& to) : before_(fs::current_path()) { fs::current_path(to); }
  ~Going() { fs::current_path(before_); }
  Going(const Going&) = delete;
  Going& operator=(const Going&) = delete;

 private:
  fs::path before_;
};

constexpr std::size_t long_name = 6000;  // few states are enough for a rewritten journal

void push(Store& store, Count step) {
  const std::string name(long_name, 'n');
  store.begin_write({Kind::state, step});
  store.put_bytes(name, std::as_bytes(std::span(&step, 1)));
  store.end();
}
void peek(Store& store, Count step) {
  Count found = -1;
  store.begin_read({Kind::state, step});
  store.get_bytes(std::string(long_name, 'n'), std::as_writable_bytes(std::span(&found, 1)));
  store.end();
  EXPECT_EQ(found, step);
}

/// Pushes and drops until the journal was rewritten and some states are kept.
void churn(Store& store) {
  for (Count step = 0; step < 40; ++step) {
    push(store, step);
    if (step >= 5) store.drop({Kind::state, step - 5});
  }
}

void expect_churned(Store& store) {
  EXPECT_TRUE(store.damage().empty());
  ASSERT_EQ(store.count(Kind::state), 5U);
  for (Count step = 35; step < 40; ++step) peek(store, step);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Method of_memory(Count memory) {
  Method method;
  method.checkpoint_memory = memory;
  return method;
}

TEST(CheckpointPlaces, a_program_that_goes_elsewhere_has_its_files_where_they_were) {
  for (const bool keeps : {true, false}) {
    const Folder folder;
    const Going at(folder.path / "slow");
    Method method = of_memory(0);
    method.checkpoint_fast = "../quick";
    method.checkpoint_fast_bytes = 1000;
    fs::create_directory(folder.path / "other");
    {
      Store store({}, "run", method);
      fs::current_path(folder.path / "other");
      churn(store);
      store.sync();
      store.close(keeps);
    }
    EXPECT_EQ(names_in(folder.path / "other"), std::vector<std::string>{});
    const std::size_t files = keeps ? 2 : 0;
    EXPECT_EQ(names_in(folder.path / "slow").size(), files);
    EXPECT_EQ(names_in(folder.path / "quick").size(), files);
    if (!keeps) continue;
    fs::current_path(folder.path / "slow");
    Store again({}, "run", method);
    fs::current_path("/");
    expect_churned(again);
    again.close(false);
    EXPECT_EQ(names_in(folder.path / "slow").size(), 0U);
  }
}

TEST(CheckpointPlaces, files_are_found_where_their_folder_was_renamed_to) {
  for (const bool keeps : {true, false}) {
    const Folder folder;
    Method method = folder.method(0);
    {
      Store store({}, "run", method);
      push(store, 100);
      fs::rename(folder.path / "slow", folder.path / "renamed");
      fs::create_directory(folder.path / "slow");  // another one of that name
      std::ofstream(folder.path / "slow/run.0.journal") << "another one's";
      store.drop({Kind::state, 100});
      churn(store);
      store.sync();
      store.close(keeps);
    }
    EXPECT_EQ(names_in(folder.path / "slow"), std::vector<std::string>{"run.0.journal"});
    EXPECT_EQ(names_in(folder.path / "renamed").size(), keeps ? 2U : 0U);
    if (!keeps) continue;
    method.checkpoint_dir = folder.file("renamed");
    Store again({}, "run", method);
    expect_churned(again);
  }
}

TEST(CheckpointPlaces, files_that_were_removed_are_told_of) {
  const Folder folder;
  Store store({}, "run", folder.method(0));
  push(store, 1);
  for (const auto& name : names_in(folder.path / "slow")) fs::remove(folder.path / "slow" / name);
  const auto failed = attempt_to([&] { store.sync(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enoent);
  EXPECT_NE(failed->message().find("run.0.data was removed"), std::string::npos);
  peek(store, 1);
  std::ofstream(folder.path / "slow/run.0.data") << "another one's";
  store.close(false);
  EXPECT_EQ(names_in(folder.path / "slow"), std::vector<std::string>{"run.0.data"});
}

TEST(CheckpointPlaces, a_store_that_is_left_keeps_what_is_in_memory) {
  const Folder folder;
  const Method method = folder.method(1 << 20);
  {
    Store store({}, "run", method);
    for (Count step = 0; step < 4; ++step) push(store, step);
    store.begin_write({Kind::state, 9});  // a push that an exception ended
    store.leave();
  }
  Store again({}, "run", method);
  ASSERT_EQ(again.count(Kind::state), 4U);
  for (Count step = 0; step < 4; ++step) peek(again, step);
}

// A rank without a part of the grid has such states. If it lost them, the other ranks' states would
// be dropped.
TEST(CheckpointPlaces, states_without_values_outlive_the_program) {
  for (const Count memory : {Count{0}, Count{1} << 20}) {
    const Folder folder;
    const auto open = [&] {
      auto store = std::make_unique<Store>(Comm(), "run", folder.method(memory));
      store->add_variable("x", Type::float64, {0, 4}, {}, nullptr);
      return store;
    };
    {
      const auto store = open();
      for (Count step = 0; step < 4; ++step) store->push({Kind::state, step});
      store->close(true);
    }
    const auto found = inspect(folder.file("slow/run"), true).ranks.at(0);
    EXPECT_EQ(found.states.size(), 4U);
    EXPECT_TRUE(found.damage.empty());
    const auto again = open();
    EXPECT_TRUE(again->damage().empty());
    ASSERT_EQ(again->count(Kind::state), 4U);
    EXPECT_EQ(again->pop(), 3);
    again->push({Kind::state, 7});
    again->close(true);
    EXPECT_EQ(open()->count(Kind::state), 4U);
  }
}

TEST(CheckpointPlaces, a_process_that_was_forked_leaves_a_store_alone) {
  const Folder folder;
  Store store({}, "run", folder.method(1 << 20));
  push(store, 1);
  const pid_t child = fork();
  if (child == 0) {
    store.leave();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(store.info({Kind::state, 1}).tier, Tier::memory);
  peek(store, 1);
  store.close(false);
}

}  // namespace store_places_test
}  // namespace forebay::checkpoint
