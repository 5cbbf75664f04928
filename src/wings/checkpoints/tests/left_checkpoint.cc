// Checkpoints of programs that end without closing them: what was in memory is found again, too.
//
// Usage: left_checkpoint DIRECTORY
//
// A child pushes states that stay in memory, and returns from main, calls exit(), or ends MPI and
// then exits; or it goes to another folder first; or a process that it forked exits before it goes
// on; or its thread decodes a state ahead as it ends. What another program finds then is all that
// was there.
#include <forebay_checkpoint.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tried.h"

namespace {

namespace fs = std::filesystem;
using kill_test::fail, kill_test::how, kill_test::must, kill_test::wrong;

constexpr std::int64_t states = 20;
constexpr std::int64_t values = 4000;

/// A variable whose first value is `value`.
int open_run(double* value, const char* codec = nullptr) {
  int store = 0, var = 0;
  must(forebay_checkpoint_open("run", "checkpoint_memory=1MiB", &store));
  must(forebay_checkpoint_var(store, "x", "double", 1, &values, codec, value, &var));
  return store;
}

void push_all(int store, double& value) {
  for (std::int64_t step = 0; step < states; ++step) {
    value = 0.5 * static_cast<double>(step);
    must(forebay_checkpoint_push(store, step));
  }
}

void check(const std::string& folder) {
  fs::current_path(folder);
  std::vector<double> all(values);
  double& value = all[0];
  const int store = open_run(all.data());
  std::int64_t n = 0, step = 0;
  must(forebay_checkpoint_list(store, 0, 0, nullptr, &n));
  if (n != states) return fail(std::to_string(n) + " states are left");
  while (n-- > 0) {
    must(forebay_checkpoint_pop(store, &step));
    if (step != n || value != 0.5 * static_cast<double>(step)) fail("step " + std::to_string(n));
  }
  must(forebay_checkpoint_close(store, 0));
  if (!fs::is_empty(folder)) fail("files are left");
}

void in_child(const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    act();
    std::exit(wrong > 0 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the program failed");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string folder = fs::absolute(argv[1]).string();
  static double all[values];
  static double& value = all[0];
  const std::vector<std::pair<std::string, std::function<void()>>> ways{
      {"exit", [] { push_all(open_run(&value), value); }},
      {"chdir",
       [] {
         const int store = open_run(&value);
         fs::current_path("/");
         push_all(store, value);
       }},
      {"MPI_Finalize",
       [] {
         MPI_Init(nullptr, nullptr);
         push_all(open_run(&value), value);
         MPI_Finalize();
       }},
      {"fork",
       [] {
         const int store = open_run(&value);
         push_all(store, value);
         in_child([] {});
         std::int64_t step = 0;
         must(forebay_checkpoint_pop(store, &step));
         must(forebay_checkpoint_push(store, step));
       }},
      {"pop",
       [] {
         const int store = open_run(&value, "zstd:1");
         push_all(store, value);
         must(forebay_checkpoint_push(store, states));
         std::int64_t step = 0;
         must(forebay_checkpoint_pop(store, &step));
       }},
  };
  for (const auto& [name, way] : ways) {
    how = name;
    fs::remove_all(folder);
    fs::create_directories(folder);
    in_child([&] {
      fs::current_path(folder);
      way();
    });
    in_child([&] { check(folder); });
  }
  fs::remove_all(folder);
  std::printf("%zu ways, %d failures\n", ways.size(), wrong);
  return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
