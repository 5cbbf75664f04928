// Checkpoints of a process that is killed at every system call of its pushes, pops, drops, syncs
// and moves between tiers.
//
// Usage: kill_checkpoint DIRECTORY
//
// A child runs a short program over a store, says before and after each call what it does, and is
// killed at its N-th system call: before it, in the midst of a write, or after it; for all N
// (support/cases.h). What is found then: each state that is there has the values of a push that had
// returned, or was under way; what was dropped is not there, nor what was replaced; what was in
// files, or synced, is. And what is dropped then does not come back at the next opening.
#include <forebay_checkpoint.h>
#include <pnetcdf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"
#include "support/cases.h"
#include "tried.h"

namespace {

namespace fs = std::filesystem;
using kill_test::fail, kill_test::how, kill_test::must, kill_test::wrong;

struct Setting {
  std::string name, hints;
  bool in_files;      ///< each push that has returned
  bool long_entries;  ///< so that the journal is written anew
};

struct Said {
  char what = 0;  ///< p: push, d: drop, s: sync; in capitals: it has returned
  std::int64_t step = 0, version = 0;
};

class Model {
 public:
  Model(const Setting& setting, const std::string& folder) : setting_(setting) {
    const std::string hints = setting.hints + ";checkpoint_dir=" + folder + "/slow";
    const std::string fast = ";checkpoint_fast=" + folder + "/quick";
    const bool has_fast = hints.find("checkpoint_fast_bytes") != std::string::npos;
    must(forebay_checkpoint_open("run", (hints + (has_fast ? fast : "")).c_str(), &store_));
    const auto n = static_cast<std::int64_t>(values_.size());
    must(forebay_checkpoint_var(store_, "x", "double", 1, &n, nullptr, values_.data(), &var_));
  }
  void push(std::int64_t step, std::int64_t version) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = value(version, i);
    if (!setting_.long_entries) return must(forebay_checkpoint_push(store_, step));
    must(forebay_checkpoint_begin(store_, step, FOREBAY_WRITE));
    must(forebay_checkpoint_put(store_, var_, values_.data()));
    must(forebay_checkpoint_put_bytes(store_, std::string(6000, 'n').c_str(), "abc", 3));
    must(forebay_checkpoint_end(store_));
  }
  void drop(std::int64_t step) { must(forebay_checkpoint_drop(store_, step)); }
  void pop(std::int64_t wanted) {
    std::int64_t step = -1;
    must(forebay_checkpoint_pop(store_, &step));
    if (step != wanted) fail("popped " + std::to_string(step));
  }
  void sync() { must(forebay_checkpoint_sync(store_)); }
  void close() { must(forebay_checkpoint_close(store_, 1)); }

  /// Versions by step; of a state that is not whole -1.
  std::map<std::int64_t, std::int64_t> contents() {
    std::int64_t steps[64], n = 0;
    must(forebay_checkpoint_list(store_, 0, 64, steps, &n));
    std::map<std::int64_t, std::int64_t> found;
    for (std::int64_t k = 0; k < n; ++k) {
      values_.assign(values_.size(), -1);
      const int code = forebay_checkpoint_peek(store_, steps[k]);
      found[steps[k]] = code == 0 ? version() : -1;
    }
    return found;
  }

 private:
  static double value(std::int64_t version, std::size_t i) {
    return 10'000.0 * static_cast<double>(version) + static_cast<double>(i);
  }
  std::int64_t version() const {
    const auto its = static_cast<std::int64_t>(values_[0] / 10'000);
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (values_[i] != value(its, i)) return -1;
    return its;
  }

  const Setting& setting_;
  int store_ = 0, var_ = 0;
  std::vector<double> values_ = std::vector<double>(2000);
};

/// The child's program. Returns where nobody killed it.
void run(const Setting& setting, const std::string& folder, int said) {
  Model model(setting, folder);
  kill_test::arm(0, true);
  std::mt19937 random(7);
  std::map<std::int64_t, std::int64_t> there;
  const auto say = [&](char what, std::int64_t step, std::int64_t version) {
    const Said words{what, step, version};
    if (::write(said, &words, sizeof words) != sizeof words) std::exit(3);
  };
  for (std::int64_t op = 1; op <= 34; ++op) {
    const auto step = static_cast<std::int64_t>(random() % 10);
    const unsigned choice = random() % 8;
    if (op == 14 || op == 26) {
      say('s', 0, 0);
      model.sync();
      say('S', 0, 0);
    } else if (choice < 5 || there.size() < 3) {
      say('p', step, op);
      model.push(step, op);
      say('P', step, op);
      there[step] = op;
    } else {
      const bool pops = choice == 5;
      const auto which = pops ? std::prev(there.end()) : there.begin();
      say('d', which->first, 0);
      pops ? model.pop(which->first) : model.drop(which->first);
      say('D', which->first, 0);
      there.erase(which);
    }
  }
  say('c', 0, 0);
  model.close();
}

struct Expected {
  std::map<std::int64_t, std::int64_t> newest;  ///< of calls that returned
  std::set<std::int64_t> safe;                  ///< steps among them that a kill does not cost
  Said last;                                    ///< what was under way, if it did not return
};

Expected expected_of(const Setting& setting, int said) {
  Expected made;
  Said words;
  while (::read(said, &words, sizeof words) == sizeof words) {
    made.last = words;
    if (words.what == 'P') {
      made.newest[words.step] = words.version;
      made.safe.erase(words.step);
      if (setting.in_files) made.safe.insert(words.step);
    } else if (words.what == 'D') {
      made.newest.erase(words.step);
      made.safe.erase(words.step);
    } else if (words.what == 'S') {
      for (const auto& [step, version] : made.newest) made.safe.insert(step);
    }
  }
  return made;
}

void compare(const Setting& setting, const Expected& expected,
             const std::map<std::int64_t, std::int64_t>& found) {
  const auto under_way = [&](char what, std::int64_t step) {
    return expected.last.what == what && expected.last.step == step;
  };
  for (const auto& [step, version] : found) {
    const auto newest = expected.newest.find(step);
    const bool is_newest = newest != expected.newest.end() && newest->second == version;
    if (is_newest || (under_way('p', step) && expected.last.version == version)) continue;
    fail("step " + std::to_string(step) + " has version " + std::to_string(version));
  }
  for (const std::int64_t step : expected.safe) {
    // Replaced in memory, it is in no file until it moves there.
    const bool replaced = under_way('p', step) && !setting.in_files;
    if (found.contains(step) || under_way('d', step) || replaced) continue;
    fail("step " + std::to_string(step) + " is lost");
  }
}

/// Whether the child was killed.
bool try_one(const Setting& setting, const std::string& folder, long call, const char* when) {
  how = setting.name + ", " + when + " call " + std::to_string(call);
  fs::remove_all(folder);
  fs::create_directories(folder + "/quick");
  fs::create_directories(folder + "/slow");
  int said[2];
  if (::pipe(said) != 0) std::exit(2);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(said[0]);
    const std::string plan = "0:" + std::to_string(call) + ":" + when;
    ::setenv("FOREBAY_TEST_KILL", plan.c_str(), 1);
    run(setting, folder, said[1]);
    std::fflush(stdout);
    ::_exit(wrong > 0 ? 1 : 0);
  }
  ::close(said[1]);
  const Expected expected = expected_of(setting, said[0]);
  ::close(said[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) fail("the program failed");
  std::optional<Model> again(std::in_place, setting, folder);
  auto found = again->contents();
  compare(setting, expected, found);
  if (!killed && found != expected.newest) fail("what was closed is not there");
  if (!found.empty()) {
    again->drop(found.begin()->first);
    found.erase(found.begin());
  }
  again->push(50, 90);
  found[50] = 90;
  again->close();
  again.emplace(setting, folder);
  if (again->contents() != found) fail("at the next opening other states are there");
  again->close();
  return killed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string folder = argv[1];
  const Setting settings[] = {
      {"files", "checkpoint_memory=0", true, false},
      {"journal", "checkpoint_memory=0", true, true},
      {"two tiers", "checkpoint_memory=0;checkpoint_fast_bytes=50000", true, false},
      {"three tiers", "checkpoint_memory=40000;checkpoint_fast_bytes=50000", false, false},
  };
  int kills = 0;
  for (const Setting& setting : settings)
    for (const char* when : {"before", "half", "after"}) {
      int killed = 0;
      const auto tried = forebay_test::try_places(1, 1, [&](long call) {
        const bool dies = wrong < 10 && try_one(setting, folder, call, when);
        killed += dies ? 1 : 0;
        return dies;
      });
      kills += killed;
      std::printf("%s, %s: %d kills at %ld calls\n", setting.name.c_str(), when, killed,
                  tried.end - 1);
      if (tried.end < 40) fail("too few calls: the test does not test");
    }
  fs::remove_all(folder);
  std::printf("%d kills, %d failures\n", kills, wrong);
  return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
