// The C interface of checkpoints: each rank has states of its own, and all act alike.
#include <mpi.h>
#include <pnetcdf.h>
// behind MPI, for what it adds
#include <forebay_checkpoint.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "support/harness.h"

using namespace forebay_test;

namespace {

constexpr int64_t steps = 40;

// Whether a codec makes states smaller and smaller, tenfold in all, each rank's at its own pace.
bool shrinks = false;

std::vector<double> shrinking_state_of(int64_t step) {
  std::vector<double> values(world.rank == world.size - 1 ? 0 : 4000);
  const double part = static_cast<double>(step) / (steps - 1);
  const double rough = 1 - 0.9 * (world.rank % 2 == 0 ? part : part * part);
  uint64_t random = static_cast<uint64_t>(step) + 1;
  for (size_t i = 0; i < values.size(); ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const bool is_rough = static_cast<double>(i) < rough * static_cast<double>(values.size());
    values[i] = is_rough ? static_cast<double>(random) : static_cast<double>(step);
  }
  return values;
}

// A rank's state after `step` steps; ranks have states of different sizes, the last one none.
std::vector<double> state_of(int64_t step) {
  if (shrinks) return shrinking_state_of(step);
  const int size = world.rank == world.size - 1 ? 0 : 100 * (world.rank + 1);
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(step * 1000 + world.rank) + 0.25 * static_cast<double>(i);
  return values;
}

int open(const std::string& hints) {
  int store = -1;
  EXPECT_OK(forebay_checkpoint_open_mpi(MPI_COMM_WORLD, world.path("run").c_str(), hints.c_str(),
                                        &store));
  return store;
}

void declare(int store, std::vector<double>& values) {
  const int64_t shape[1] = {static_cast<int64_t>(values.size())};
  EXPECT_OK(
      forebay_checkpoint_var(store, "u", "double", 1, shape, nullptr, values.data(), nullptr));
}

struct Outcome {
  int64_t advanced = 0, kept = 0, turned = 0, failed = 0, looked_at = 0;
};

// Where a push fails on one rank the others drop theirs, or leave that to `next`.
bool leaves_it = false;
void store_step(int store, int64_t step, Outcome& outcome) {
  const int mine = forebay_checkpoint_push(store, step) == 0 ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  ++(all == 1 ? outcome.kept : outcome.failed);
  if (all == 0 && mine == 1 && !leaves_it) {
    EXPECT_OK(forebay_checkpoint_drop(store, step));
  }
}

// Files of this process get no longer than that while it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// Does what it is told until `most` actions are done, or all.
Outcome reverse(int store, std::vector<double>& values, int64_t& model, int64_t& left, int most) {
  Outcome outcome;
  for (int i = 0; i < most; ++i) {
    int action = -1;
    int64_t from = -1, to = -1;
    EXPECT_OK(forebay_schedule_next(store, model, left, &action, &from, &to));
    EXPECT_TRUE(same_on_all_ranks(action * 1000000 + from * 1000 + to));
    switch (action) {
      case FOREBAY_ADVANCE:
        outcome.advanced += to - model;
        model = to;
        values.assign(values.size(), 0);
        std::copy_n(state_of(model).begin(), values.size(), values.begin());
        break;
      case FOREBAY_STORE:
        store_step(store, from, outcome);
        break;
      case FOREBAY_RESTORE:
        EXPECT_OK(forebay_checkpoint_peek(store, from));
        EXPECT_TRUE(values == state_of(from));
        model = from;
        break;
      case FOREBAY_DROP:
        EXPECT_OK(forebay_checkpoint_drop(store, from));
        if (from == model) ++outcome.looked_at;
        break;
      case FOREBAY_TURN:
        EXPECT_TRUE(values == state_of(from));
        ++outcome.turned;
        left = from;
        model = -1;
        break;
      default:
        EXPECT_EQ(action, FOREBAY_DONE);
        return outcome;
    }
  }
  return outcome;
}

}  // namespace

TEST(Checkpoints, all_ranks_act_alike_though_their_states_differ_in_size) {
  std::vector<double> values = state_of(0);
  const int store = open("checkpoint_memory=2KiB;checkpoint_dir_bytes=8KiB");
  declare(store, values);
  int64_t model = 0, left = steps;
  const Outcome outcome = reverse(store, values, model, left, 100000);
  EXPECT_EQ(outcome.turned, steps);
  EXPECT_EQ(left, 0);
  if (world.size > 2) {
    EXPECT_GT(outcome.advanced, steps);
  }
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

// Of one rank's states as they are nobody has to find out how large they are; of others' all do.
TEST(Checkpoints, two_states_are_stored_for_their_sizes_where_these_may_differ) {
  for (const char* codec : {"none", "float32"}) {
    std::vector<double> values = state_of(0);
    const bool encoded = *codec == 'f' && world.size > 2;  // less than 1 KiB is kept as it is
    const int store =
        open("checkpoint_memory=0;checkpoint_dir_bytes=" + std::to_string(2400 * world.size) +
             ";codec=" + codec);
    declare(store, values);
    int64_t model = 0, left = steps;
    const Outcome outcome = reverse(store, values, model, left, 100000);
    EXPECT_EQ(outcome.turned, steps);
    EXPECT_EQ(outcome.looked_at, encoded ? 2 : 0);
    EXPECT_OK(forebay_checkpoint_close(store, 0));
  }
}

// The first state, which is large, leaves room for no other one of its size.
TEST(Checkpoints, states_that_get_smaller_and_smaller_are_planned_with) {
  shrinks = true;
  std::vector<double> values = state_of(0);
  const int store = open("checkpoint_memory=0;checkpoint_dir_bytes=60000;codec=zstd:1");
  declare(store, values);
  int64_t model = 0, left = steps;
  const Outcome outcome = reverse(store, values, model, left, 100000);
  shrinks = false;
  EXPECT_EQ(outcome.turned, steps);
  EXPECT_LE(outcome.advanced, steps * (steps - 1) / 6);
  EXPECT_LE(outcome.kept + outcome.failed, 5 * steps);
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, a_store_serves_one_run_after_another) {
  std::vector<double> values = state_of(0);
  // Room for the first state alone, on the rank that has the largest.
  const int store =
      open("checkpoint_memory=0;checkpoint_dir_bytes=" + std::to_string(800 * world.size));
  declare(store, values);
  for (int run = 0; run < 2; ++run) {
    std::copy_n(state_of(0).begin(), values.size(), values.begin());  // where they were declared
    int64_t model = 0, left = steps;
    EXPECT_EQ(reverse(store, values, model, left, 100000).turned, steps);
    EXPECT_EQ(left, 0);
  }
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, a_full_disk_is_planned_with) {
  std::vector<double> values(1 << 16, 0);  // 512 KiB
  for (const int way : {0, 1, 2, 3}) {
    const bool from_the_first = way % 2 == 1;
    leaves_it = way >= 2;
    const int store = open("checkpoint_memory=0");
    declare(store, values);
    int64_t model = 0, left = steps;
    {
      // Room for three states and a half; on one rank, or on all of one.
      std::optional<FullDisk> full;
      if (world.rank == world.size / 2) full.emplace(from_the_first ? 1 << 18 : 7 << 18);
      Outcome outcome;
      int action = FOREBAY_ADVANCE, code = 0;
      int64_t from = 0, to = 0;
      for (int i = 0; i < 10000 && action != FOREBAY_DONE; ++i) {
        code = forebay_schedule_next(store, model, left, &action, &from, &to);
        if (code != 0) break;
        ASSERT_TRUE(same_on_all_ranks(action * 1000000 + from * 1000 + to));
        switch (action) {
          case FOREBAY_ADVANCE:
            outcome.advanced += to - from;
            model = to;
            break;
          case FOREBAY_STORE:
            store_step(store, from, outcome);
            break;
          case FOREBAY_RESTORE:
            EXPECT_OK(forebay_checkpoint_peek(store, model = from));
            break;
          case FOREBAY_DROP:
            EXPECT_OK(forebay_checkpoint_drop(store, from));
            break;
          case FOREBAY_TURN:
            left = from;
            model = -1;
            break;
          default:
            break;
        }
      }
      if (from_the_first) {
        EXPECT_EQ(code, NC_ENO_SPACE);
        EXPECT_EQ(outcome.failed, 1);
      } else {
        EXPECT_EQ(code, 0);
        EXPECT_EQ(action, FOREBAY_DONE);
        // That with room for three from the beginning takes 124.
        EXPECT_LE(outcome.advanced, 200);
        EXPECT_LE(outcome.failed, 2);
        EXPECT_GE(outcome.failed, 1);
      }
    }
    EXPECT_OK(forebay_checkpoint_close(store, 0));
  }
  leaves_it = false;
}

TEST(Checkpoints, ranks_that_were_told_different_costs_of_keeping_act_alike) {
  std::vector<double> values = state_of(0);
  const std::string keeping = world.rank == 0 ? "checkpoint_keeping=20;" : "";
  const int store = open(keeping + "checkpoint_memory=1MiB");
  declare(store, values);
  int64_t model = 0, left = steps;
  const Outcome outcome = reverse(store, values, model, left, 100000);
  EXPECT_EQ(outcome.turned, steps);
  EXPECT_GT(outcome.advanced, 2 * steps);
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, a_program_that_stays_at_the_first_state_is_told_when_all_is_done) {
  std::vector<double> values = state_of(0);
  const int store = open("checkpoint_memory=1MiB");
  declare(store, values);
  int64_t model = 0, left = steps;
  while (left > 0) reverse(store, values, model, left, 1);
  model = 0;
  std::vector<int> actions(2);
  for (int& action : actions) {
    int64_t from = 0, to = 0;
    EXPECT_OK(forebay_schedule_next(store, model, left, &action, &from, &to));
    if (action == FOREBAY_DROP) {
      EXPECT_OK(forebay_checkpoint_drop(store, from));
    }
  }
  EXPECT_EQ(actions[0], FOREBAY_DROP);
  EXPECT_EQ(actions[1], FOREBAY_DONE);
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, ranks_that_ask_for_different_things_are_told) {
  std::vector<double> values = state_of(0);
  const int store = open("checkpoint_memory=1MiB");
  declare(store, values);
  int action = 0;
  int64_t from = 0, to = 0;
  EXPECT_ERR(NC_EINVAL, forebay_schedule_next(store, 0, -2, &action, &from, &to));
  EXPECT_OK(forebay_checkpoint_push(store, 0));
  const int64_t left = world.rank == 0 ? steps : steps - 1;
  EXPECT_ERR(world.size > 1 ? NC_EMULTIDEFINE : NC_NOERR,
             forebay_schedule_next(store, 0, left, &action, &from, &to));
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, a_job_that_ends_on_its_way_back_goes_on_there) {
  const std::string hints = "checkpoint_memory=0;checkpoint_dir_bytes=16KiB";
  int64_t model = 0, left = steps, reversed = 0;
  {
    std::vector<double> values = state_of(0);
    const int store = open(hints);
    declare(store, values);
    reversed = reverse(store, values, model, left, 60).turned;
    EXPECT_OK(forebay_checkpoint_begin(store, left, FOREBAY_WRITE | FOREBAY_ADJOINT));
    EXPECT_OK(forebay_checkpoint_put_bytes(store, "left", &left, sizeof left));
    EXPECT_OK(forebay_checkpoint_end(store));
    EXPECT_OK(forebay_checkpoint_close(store, 1));
  }
  std::vector<double> values = state_of(0);
  const int store = open(hints);
  declare(store, values);
  int64_t step = -1, found = 0, size = 0, again = -1;
  EXPECT_OK(forebay_checkpoint_list(store, FOREBAY_ADJOINT, 1, &step, &found));
  EXPECT_EQ(found, 1);
  EXPECT_OK(forebay_checkpoint_begin(store, step, FOREBAY_READ | FOREBAY_ADJOINT));
  EXPECT_OK(forebay_checkpoint_get_bytes(store, "left", nullptr, &size));
  EXPECT_EQ(size, 8);
  size = 4;
  EXPECT_ERR(NC_EINSUFFBUF, forebay_checkpoint_get_bytes(store, "left", &again, &size));
  EXPECT_OK(forebay_checkpoint_get_bytes(store, "left", &again, &size));
  EXPECT_OK(forebay_checkpoint_end(store));
  EXPECT_EQ(again, left);
  model = -1;
  EXPECT_EQ(reversed + reverse(store, values, model, again, 100000).turned, steps);
  EXPECT_OK(forebay_checkpoint_drop_adjoint(store, step));
  EXPECT_ERR(NC_ENODATA, forebay_checkpoint_pop(store, nullptr));
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, a_rank_that_asks_for_what_makes_no_sense_leaves_nobody_waiting) {
  std::vector<double> values = state_of(0);
  const int store = open("checkpoint_memory=2KiB");
  declare(store, values);
  int action = -1;
  int64_t from = -1, to = -1;
  const int64_t model = world.rank == world.size - 1 ? -5 : 0;
  EXPECT_ERR(NC_EINVAL, forebay_schedule_next(store, model, steps, &action, &from, &to));
  EXPECT_OK(forebay_schedule_next(store, 0, steps, &action, &from, &to));
  EXPECT_EQ(action, FOREBAY_STORE);
  EXPECT_OK(forebay_checkpoint_close(store, 0));
}

TEST(Checkpoints, what_is_wrong_is_told_by_codes) {
  int store = -1, variable = -1;
  const std::string path = world.path("run") + std::to_string(world.rank);
  EXPECT_ERR(NC_EINVAL, forebay_checkpoint_open(path.c_str(), "checkpoint_memory=much", &store));
  EXPECT_ERR(NC_EINVAL, forebay_checkpoint_open(path.c_str(), nullptr, nullptr));
  EXPECT_ERR(NC_EBADNAME, forebay_checkpoint_open(nullptr, nullptr, &store));
  EXPECT_ERR(NC_EBADID, forebay_checkpoint_push(77, 1));
  EXPECT_OK(forebay_checkpoint_open(path.c_str(), nullptr, &store));
  EXPECT_ERR(NC_EBADTYPE,
             forebay_checkpoint_var(store, "u", "complex", 0, nullptr, nullptr, nullptr, nullptr));
  EXPECT_ERR(NC_EINVAL,
             forebay_checkpoint_var(store, "u", "int", 2, nullptr, nullptr, nullptr, nullptr));
  EXPECT_OK(forebay_checkpoint_var(store, "u", "int", 0, nullptr, nullptr, nullptr, &variable));
  EXPECT_ERR(NC_EINVAL, forebay_checkpoint_begin(store, 1, 8));
  EXPECT_ERR(NC_EPERM, forebay_checkpoint_put(store, variable, &store));
  EXPECT_ERR(NC_ENODATA, forebay_checkpoint_peek(store, 1));
  EXPECT_TRUE(std::string(forebay_error_message()).find("state 1") != std::string::npos);
  EXPECT_OK(forebay_checkpoint_close(store, 0));
  EXPECT_ERR(NC_EBADID, forebay_checkpoint_close(store, 0));
}
