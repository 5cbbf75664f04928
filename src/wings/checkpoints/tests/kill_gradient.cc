// The gradient of a job that is killed, on its way there or back, and goes on: it is that of a job
// that nobody killed, bit by bit, and no step is reversed again whose adjoint was on the device
// (docs/checkpoints.md, "Kill and resume").
//
// Usage: kill_gradient DIRECTORY
//
// A child is killed at its N-th system call, for all N (support/cases.h); the next one, which goes
// on, at some call of its own; the third comes to the end.
#include <forebay_checkpoint.h>
#include <pnetcdf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"
#include "support/cases.h"
#include "tried.h"

namespace {

namespace fs = std::filesystem;
using kill_test::fail, kill_test::how, kill_test::must, kill_test::wrong;
using Field = std::vector<double>;

constexpr std::int64_t steps = 10;
constexpr std::size_t cells = 200;

// -- Burgers' equation on a ring, and its adjoint
// --------------------------------------------------

Field first_state() {
  Field u(cells);
  for (std::size_t i = 0; i < cells; ++i)
    u[i] = 1 + 0.5 * std::sin(0.0314 * static_cast<double>(i));
  return u;
}

Field after(const Field& u) {
  Field next(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    const double left = u[(i + cells - 1) % cells], right = u[(i + 1) % cells];
    next[i] = u[i] - 0.05 * u[i] * (right - left) + 0.05 * (left - 2 * u[i] + right);
  }
  return next;
}

/// Of sum(u^2) / 2, before a step that began from u.
Field before(const Field& u, const Field& adjoint) {
  Field made(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t left = (i + cells - 1) % cells, right = (i + 1) % cells;
    made[i] = adjoint[i] * (1 - 0.05 * (u[right] - u[left]) - 0.1) +
              adjoint[left] * (0.05 - 0.05 * u[left]) + adjoint[right] * (0.05 + 0.05 * u[right]);
  }
  return made;
}

Field exact_gradient() {
  std::vector<Field> all{first_state()};
  while (std::ssize(all) <= steps) all.push_back(after(all.back()));
  Field adjoint = all.back();
  for (std::size_t n = steps; n-- > 0;) adjoint = before(all[n], adjoint);
  return adjoint;
}

// -- a job
// -----------------------------------------------------------------------------------------

struct Said {
  std::int64_t left = 0;  ///< steps to be reversed
  bool begins = false;
};

class Job {
 public:
  Job(const std::string& hints, const std::string& folder, int said) : said_(said) {
    must(forebay_checkpoint_open((folder + "/run").c_str(), hints.c_str(), &store_));
    const auto n = static_cast<std::int64_t>(cells);
    must(forebay_checkpoint_var(store_, "u", "double", 1, &n, nullptr, u_.data(), nullptr));
  }

  /// Begins, or goes on where one before was killed; to the end.
  Field gradient() {
    kill_test::arm(0, true);
    find_adjoint();
    say(true);
    std::int64_t states = 0;
    must(forebay_checkpoint_list(store_, 0, 0, nullptr, &states));
    if (states == 0 && left_ < steps && left_ > 0) fail("no state is left to begin from");
    std::int64_t model = states == 0 ? 0 : -1, from = 0, to = 0;
    int action = 0;
    do {
      must(forebay_schedule_next(store_, model, left_, &action, &from, &to));
      switch (action) {
        case FOREBAY_ADVANCE:
          for (; model < to; ++model) set(after(u_));
          break;
        case FOREBAY_STORE:
          forebay_checkpoint_push(store_, from);
          if (from == 0) must(forebay_checkpoint_sync(store_));
          break;
        case FOREBAY_RESTORE:
          must(forebay_checkpoint_peek(store_, model = from));
          break;
        case FOREBAY_DROP:
          must(forebay_checkpoint_drop(store_, from));
          break;
        case FOREBAY_TURN:
          if (to == steps) adjoint_ = after(u_);
          adjoint_ = before(u_, adjoint_);
          keep_adjoint(from);
          must(forebay_checkpoint_drop_adjoint(store_, to));
          model = -1;
          break;
        default:
          break;
      }
    } while (action != FOREBAY_DONE);
    must(forebay_checkpoint_close(store_, 1));
    return adjoint_;
  }

 private:
  // Where push takes them from, and peek puts them.
  void set(const Field& u) { std::copy(u.begin(), u.end(), u_.begin()); }

  /// That of the fewest steps; whoever was killed between two has both.
  void find_adjoint() {
    std::int64_t found[4], n = 0;
    must(forebay_checkpoint_list(store_, FOREBAY_ADJOINT, 4, found, &n));
    if (n > 2) fail("more than two states of the adjoint");
    if (n == 0) return keep_adjoint(steps);  // room for those that come
    left_ = found[0];
    must(forebay_checkpoint_begin(store_, left_, FOREBAY_READ | FOREBAY_ADJOINT));
    auto size = static_cast<std::int64_t>(cells * sizeof(double));
    must(forebay_checkpoint_get_bytes(store_, "adjoint", adjoint_.data(), &size));
    must(forebay_checkpoint_end(store_));
    for (std::int64_t i = 1; i < n; ++i) must(forebay_checkpoint_drop_adjoint(store_, found[i]));
  }

  void keep_adjoint(std::int64_t step) {
    must(forebay_checkpoint_begin(store_, step, FOREBAY_WRITE | FOREBAY_ADJOINT));
    must(forebay_checkpoint_put_bytes(store_, "adjoint", adjoint_.data(), cells * sizeof(double)));
    must(forebay_checkpoint_end(store_));
    must(forebay_checkpoint_sync(store_));
    left_ = step;
    say(false);
  }

  void say(bool begins) const {
    const Said words{left_, begins};
    if (::write(said_, &words, sizeof words) != sizeof words) std::_Exit(3);
  }

  int store_ = 0, said_;
  Field u_ = first_state(), adjoint_ = Field(cells);
  std::int64_t left_ = steps;
};

// -- children
// --------------------------------------------------------------------------------------

struct Outcome {
  bool killed = false;
  std::int64_t began = steps, left = steps;
  Field gradient;  ///< where it came to the end
};

/// `call` 0: nobody kills it.
Outcome run(const std::string& hints, const std::string& folder, long call,
            const std::string& when) {
  int said[2];
  if (::pipe(said) != 0) std::exit(2);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(said[0]);
    const std::string plan = "0:" + std::to_string(call) + ":" + when;
    ::setenv("FOREBAY_TEST_KILL", plan.c_str(), 1);
    {
      const Field gradient = Job(hints, folder, said[1]).gradient();
      std::FILE* out = std::fopen((folder + "/gradient").c_str(), "wb");
      std::fwrite(gradient.data(), sizeof(double), cells, out);
      std::fclose(out);
    }
    std::fflush(stdout);
    std::_Exit(wrong > 0 ? 1 : 0);
  }
  ::close(said[1]);
  Outcome outcome;
  Said words;
  while (::read(said[0], &words, sizeof words) == sizeof words) {
    if (words.begins) outcome.began = words.left;
    outcome.left = words.left;
  }
  ::close(said[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (outcome.killed) return outcome;
  if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) fail("the job failed");
  outcome.gradient.resize(cells);
  std::FILE* in = std::fopen((folder + "/gradient").c_str(), "rb");
  if (!in || std::fread(outcome.gradient.data(), sizeof(double), cells, in) != cells)
    fail("there is no gradient");
  if (in) std::fclose(in);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const std::string folder = argv[1];
  const Field exact = exact_gradient();
  int kills = 0, went_on = 0;
  const std::string settings[] = {"checkpoint_memory=0;checkpoint_dir_bytes=9000",
                                  "checkpoint_memory=4000",
                                  "checkpoint_memory=0;checkpoint_fast_bytes=5000;"
                                  "checkpoint_dir_bytes=6000;checkpoint_fast=" +
                                      folder + "/quick"};
  for (const std::string& setting : settings)
    for (const std::string when : {"before", "half", "after"}) {
      const long apart = &setting == settings && when == "before" ? 1 : 3;
      const std::string hints = "codec=shuffle,zstd:1;" + setting;
      forebay_test::try_places(1, apart, [&](long call) {
        if (wrong >= 10) return false;
        how = setting + ", " + when + " call " + std::to_string(call);
        fs::remove_all(folder);
        fs::create_directories(folder + "/quick");
        Outcome job = run(hints, folder, call, when);
        const bool dies = job.killed;
        for (const long later : {call / 2 + 1, 0L}) {
          if (!job.killed) break;
          ++kills;
          const std::int64_t left = job.left;
          job = run(hints, folder, later, when);
          if (job.began > left) fail("a step is reversed again");
          went_on += job.began < steps ? 1 : 0;
        }
        if (job.gradient.size() != cells ||
            std::memcmp(job.gradient.data(), exact.data(), cells * sizeof(double)) != 0)
          fail("another gradient");
        return dies;
      });
    }
  fs::remove_all(folder);
  std::printf("%d kills, %d jobs went on with an adjoint, %d failures\n", kills, went_on, wrong);
  using forebay_test::few_of;
  if (kills < few_of(400) || went_on < few_of(200)) {
    std::printf("too few: the test does not test\n");
    return EXIT_FAILURE;
  }
  return wrong > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
