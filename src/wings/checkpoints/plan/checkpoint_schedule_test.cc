#include "checkpoints/plan/checkpoint_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "checkpoints/plan/checkpoint_steps.h"
#include "support/cases.h"

namespace forebay {
namespace checkpoint_schedule_test {

using Kind = AdjointAction::Kind;

// The address sanitizer makes a plan ten times slower, and its CI jobs have a time limit.
#if defined(__SANITIZE_ADDRESS__)
const bool all = false;
#else
const bool all = forebay_test::all_cases();
#endif
const auto lengths = all ? std::vector<Count>{20, 40, 60} : std::vector<Count>{20};
const int random_runs = all ? 100 : 20;
const Count most_states = all ? 8 : 3, longest = all ? 200 : 80, many_states = all ? 1500 : 500;

/// The least number of additional steps with `c` states (Griewank and Walther 2000): r l - C(c + r,
/// c + 1) for C(c + r - 1, c) < l <= C(c + r, c).
Count least_steps(Count l, Count c) {
  const auto choose = [](Count n, Count k) {
    double value = 1;
    for (Count i = 1; i <= k; ++i)
      value = value * static_cast<double>(n - k + i) / static_cast<double>(i);
    return value;
  };
  Count r = 0;
  while (choose(c + r, c) < static_cast<double>(l)) ++r;
  return r == 0 ? 0 : r * l - std::llround(choose(c + r, c + 1));
}

/// A program that carries out actions, and checks that each one is possible.
struct Program {
  AdjointState state;
  std::vector<Count> sizes;          ///< of states
  std::vector<int> tiers;            ///< of stored states
  bool tells_sizes = true;           ///< of stored states
  Count steps_run = 0;               ///< without the runs before reversals
  std::vector<Count> writes, reads;  ///< of each tier

  Program(std::vector<Count> of_states, std::vector<Count> room) : sizes(std::move(of_states)) {
    state.adjoint = std::ssize(sizes);
    state.free = std::move(room);
    writes.resize(state.free.size());
    reads.resize(state.free.size());
  }
  Count length() const { return std::ssize(sizes); }
  Count size_of(Count step) const { return sizes.at(static_cast<std::size_t>(step)); }

  std::size_t find(Count step) const {
    for (std::size_t i = 0; i < state.stored.size(); ++i)
      if (state.stored[i].step == step) return i;
    ADD_FAILURE() << "state " << step << " is not stored";
    throw std::runtime_error("not stored");
  }
  void forget(Count step) {
    const auto i = find(step);
    state.free[static_cast<std::size_t>(tiers[i])] += state.stored[i].bytes;
    state.stored.erase(state.stored.begin() + static_cast<std::ptrdiff_t>(i));
    tiers.erase(tiers.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void keep(const AdjointAction& action) {
    const Count bytes = size_of(action.from);
    if (tells_sizes) note_size(state.seen, {action.from, bytes});
    Count& room = state.free.at(static_cast<std::size_t>(action.tier));
    if (bytes > room) {
      ASSERT_NE(state.here, bytes) << "told twice to store what does not fit";
      state.here = bytes;
      return;
    }
    state.here.reset();
    room -= bytes;
    ++writes[static_cast<std::size_t>(action.tier)];
    const auto at =
        std::lower_bound(state.stored.begin(), state.stored.end(), action.from,
                         [](const StoredState& s, Count step) { return s.step < step; });
    ASSERT_TRUE(at == state.stored.end() || at->step != action.from) << "stored twice";
    tiers.insert(tiers.begin() + (at - state.stored.begin()), action.tier);
    state.stored.insert(at, {action.from, bytes});
  }

  /// Returns false when all is done.
  bool carry_out(const AdjointAction& action) {
    switch (action.kind) {
      case Kind::advance:
        EXPECT_EQ(action.from, state.model);
        EXPECT_LT(action.from, action.to);
        if (state.adjoint) EXPECT_LT(action.to, *state.adjoint);
        steps_run += action.to - action.from;
        state.model = action.to;
        state.here.reset();
        break;
      case Kind::store:
        EXPECT_EQ(action.from, state.model);
        keep(action);
        break;
      case Kind::restore:
        ++reads[static_cast<std::size_t>(tiers[find(action.from)])];
        state.model = action.from;
        state.here.reset();
        break;
      case Kind::drop:
        forget(action.from);
        state.here.reset();
        if (action.from == state.model) state.here = std::numeric_limits<Count>::max();
        break;
      case Kind::turn:
        EXPECT_EQ(action.from, state.model);
        EXPECT_EQ(action.to, *state.adjoint);
        state.model = action.to;
        state.adjoint = action.from;
        break;
      case Kind::done:
        EXPECT_EQ(*state.adjoint, 0);
        EXPECT_TRUE(state.stored.empty());
        return false;
    }
    return true;
  }
  void reverse() {
    for (Count i = 0; carry_out(next_action(state)); ++i)
      ASSERT_LT(i, 40 * length() * length()) << "it goes on for ever";
  }
  /// Runs without a known end until `length()` steps have been made.
  void run_on() {
    state.adjoint.reset();
    while (state.model < length()) {
      AdjointAction action = next_action(state);
      if (action.kind == Kind::advance) action.to = std::min(action.to, length());
      carry_out(action);
    }
    state.adjoint = length();
  }
};

std::vector<Count> equal(Count n, Count bytes) {
  return std::vector<Count>(static_cast<std::size_t>(n), bytes);
}

TEST(CheckpointSchedule, equal_sizes_take_the_least_number_of_steps) {
  EXPECT_EQ(least_steps(10, 3), 15);
  EXPECT_EQ(least_steps(100, 3), 490);
  EXPECT_EQ(least_steps(100, 9), 234);
  EXPECT_EQ(least_steps(1000, 10), 3636);
  for (Count l = 1; l <= longest; ++l) {
    for (Count c = 1; c <= 20; ++c) {
      Program program(equal(l, 8), {8 * c + 7});
      program.reverse();
      ASSERT_EQ(program.steps_run, least_steps(l, c)) << l << " steps, " << c << " states";
    }
  }
  Program large(equal(1000, 3), {30});
  large.reverse();
  EXPECT_EQ(large.steps_run, 3636);
}

/// The least number of steps if all sizes are known, for schedules that keep each state until all
/// steps after it are reversed.
class Optimum {
 public:
  Optimum(const std::vector<Count>& sizes, Count room)
      : length_(std::ssize(sizes)),
        room_(room),
        first_(sizes[0]),
        least_(static_cast<std::size_t>(length_ * (length_ + 1) * (room + 1))) {
    for (Count n = 2; n <= length_; ++n)
      for (Count begin = 0; begin + n <= length_; ++begin) fill(sizes, begin, begin + n);
  }
  Count steps() { return least(0, length_)[room_ - first_]; }

 private:
  void fill(const std::vector<Count>& sizes, Count begin, Count end) {
    Count* const best = least(begin, end);
    std::fill(best, best + room_ + 1, (end - begin) * (end - begin - 1) / 2);
    for (Count m = begin + 1; m < end; ++m) {
      const Count bytes = sizes[static_cast<std::size_t>(m)];
      const Count* const after = least(m, end);
      const Count* const before = least(begin, m);
      for (Count free = bytes; free <= room_; ++free)
        best[free] = std::min(best[free], m - begin + after[free - bytes] + before[free]);
    }
  }
  /// For the steps from `begin` to `end`, by the bytes that are free beside the state `begin`.
  Count* least(Count begin, Count end) {
    return least_.data() + (begin * (length_ + 1) + end) * (room_ + 1);
  }

  Count length_, room_, first_;
  std::vector<Count> least_;
};

/// States that compress worse over time, as models leave their first state (Hou 2023, §4.3.1).
std::vector<Count> drifting(std::mt19937& random, Count n, double noise) {
  std::uniform_real_distribution<double> part(0, 1);
  const double growth = part(random), time = 2 + 13 * part(random);
  std::vector<Count> sizes;
  for (Count i = 0; i < n; ++i)
    sizes.push_back(
        std::llround(20 * (1 + growth * (1 - std::exp(-static_cast<double>(i) / time))) *
                     (1 + noise * (2 * part(random) - 1))));
  return sizes;
}

TEST(CheckpointSchedule, sizes_that_drift_take_little_more_than_the_optimum) {
  std::mt19937 random(19);
  double sum = 0;
  constexpr int runs = 40;
  for (int run = 0; run < runs; ++run) {
    const auto length = std::uniform_int_distribution<Count>(20, 60)(random);
    const auto sizes = drifting(random, length, 0.03);
    const double mean = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), Count{0})) /
                        static_cast<double>(length);
    const double states = std::uniform_real_distribution<double>(5, 12)(random);
    const Count room = std::llround(states * mean);
    Program program(sizes, {room});
    program.reverse();
    const double ratio =
        static_cast<double>(program.steps_run) / static_cast<double>(Optimum(sizes, room).steps());
    EXPECT_LE(ratio, 1.15) << length << " steps, room for " << states;
    EXPECT_GE(ratio, 1) << "the optimum is none";
    sum += ratio;
  }
  EXPECT_LE(sum / runs, 1.03);
}

/// The least mean number of steps of a program that knows the distribution of sizes, but not a size
/// before the state is there; and what its schedule takes for states that turn out to have these
/// sizes.
class OnlineOptimum {
 public:
  OnlineOptimum(std::vector<Count> equally_likely, Count most_steps, Count room)
      : sizes_(std::move(equally_likely)), room_(room), stride_(most_steps + 1) {
    from_.resize(static_cast<std::size_t>(stride_ * stride_ * (room + 1)));
    for (Count n = 2; n <= most_steps; ++n) {
      for (Count free = 0; free <= room; ++free) {
        from(n, n - 1, free) = from(n - 1, 0, free);
        for (Count at = n - 2; at > 0; --at) {
          const double on = 1 + from(n, at + 1, free);
          double sum = 0;
          for (const Count size : sizes_) sum += std::min(on, if_kept(n, at, free, size));
          from(n, at, free) = sum / static_cast<double>(sizes_.size());
        }
        from(n, 0, free) = 1 + from(n, 1, free);
      }
    }
  }
  Count steps(const std::vector<Count>& sizes) {
    return steps(sizes, 0, std::ssize(sizes), room_ - sizes[0]);
  }

 private:
  /// For n steps whose first state is stored, with the model at `at`.
  double& from(Count n, Count at, Count free) {
    return from_[static_cast<std::size_t>((n * stride_ + at) * (room_ + 1) + free)];
  }
  double if_kept(Count n, Count at, Count free, Count size) {
    if (size > free) return std::numeric_limits<double>::max();
    return from(n - at, 0, free - size) + from(at, 0, free);
  }
  Count steps(const std::vector<Count>& sizes, Count begin, Count end, Count free) {
    const Count n = end - begin;
    if (n <= 1) return 0;
    for (Count at = 1; at < n - 1; ++at) {
      const Count size = sizes[static_cast<std::size_t>(begin + at)];
      if (if_kept(n, at, free, size) < 1 + from(n, at + 1, free))
        return at + steps(sizes, begin + at, end, free - size) +
               steps(sizes, begin, begin + at, free);
    }
    return n - 1 + steps(sizes, begin, end - 1, free);
  }

  std::vector<Count> sizes_;
  Count room_, stride_;
  std::vector<double> from_;
};

TEST(CheckpointSchedule, sizes_that_differ_at_random_take_little_more_than_the_optimum) {
  std::vector<Count> likely(13);
  std::iota(likely.begin(), likely.end(), 14);  // vary by 30 %
  struct Case {
    Count states;
    double most, most_of_online;  // limits for the mean of ratios
  };
  for (const Case& c :
       {Case{3, 1.1, 1.06}, {4, 1.07, 1.04}, {5, 1.06, 1.04}, {6, 1.06, 1.03}, {8, 1.05, 1.03}}) {
    if (c.states > most_states) break;
    std::mt19937 random(23);
    const Count room = 20 * c.states;
    OnlineOptimum online(likely, 60, room);
    double sum = 0, sum_of_online = 0;
    constexpr int runs = 40;
    for (int run = 0; run < runs; ++run) {
      std::vector<Count> sizes(std::uniform_int_distribution<std::size_t>(20, 60)(random));
      for (Count& size : sizes) size = likely[random() % likely.size()];
      Program program(sizes, {room});
      program.reverse();
      const Count least = Optimum(sizes, room).steps(), known = online.steps(sizes);
      EXPECT_LE(least, program.steps_run);
      EXPECT_LE(least, known);
      sum += static_cast<double>(program.steps_run) / static_cast<double>(least);
      sum_of_online += static_cast<double>(known) / static_cast<double>(least);
    }
    EXPECT_LE(sum / runs, c.most) << c.states;
    EXPECT_LE(sum / sum_of_online, c.most_of_online) << c.states;
  }
}

using Shape = double (*)(double);

/// The steps of runs whose sizes have such shapes, divided by the optimum.
struct Ratios {
  double mean = 0, largest = 0;
};
Ratios ratios_of(Shape shape, double noise) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> part(0, 1);
  Ratios ratios;
  int runs = 0;
  for (const Count n : lengths) {
    for (const double states : {3.0, 4.0, 6.5, 12.0}) {
      std::vector<Count> sizes;
      for (Count i = 0; i < n; ++i)
        sizes.push_back(std::max<Count>(
            1, std::llround(4 * shape(static_cast<double>(i) / static_cast<double>(n - 1)) *
                            (1 + noise * (2 * part(random) - 1)))));
      const auto all = std::accumulate(sizes.begin(), sizes.end(), Count{0});
      const Count room = std::max<Count>(
          std::llround(states * static_cast<double>(all) / static_cast<double>(n)), sizes[0]);
      Program program(sizes, {room});
      program.reverse();
      EXPECT_LE(program.writes[0], 4 * n);
      const double ratio = static_cast<double>(program.steps_run) /
                           static_cast<double>(Optimum(sizes, room).steps());
      ratios.mean += ratio;
      ratios.largest = std::max(ratios.largest, ratio);
      ++runs;
    }
  }
  ratios.mean /= runs;
  return ratios;
}

// Future sizes are unknown, and a large first state says nothing about small later ones.
TEST(CheckpointSchedule, sizes_that_change_tenfold_take_little_more_than_the_optimum) {
  const Shape shapes[] = {[](double x) { return 1 + 9 * x; },
                          [](double x) { return std::pow(10, x); },
                          [](double x) { return 10 - 9 * x; },
                          [](double x) { return std::pow(10, 1 - x); },
                          [](double x) { return 1 + 9 * std::sin(3.14159 * x); },
                          [](double x) { return 1 + 9 * (1 - std::exp(-5 * x)); }};
  for (const double noise : {0.0, 0.05, 0.2}) {
    for (std::size_t shape = 0; shape < std::size(shapes); ++shape) {
      const Ratios ratios = ratios_of(shapes[shape], noise);
      EXPECT_LE(ratios.mean, 1.08) << "shape " << shape << ", noise " << noise;
      EXPECT_LE(ratios.largest, 1.2) << "shape " << shape << ", noise " << noise;
      RecordProperty("shape " + std::to_string(shape) + ", noise " + std::to_string(noise),
                     std::to_string(ratios.mean) + ", " + std::to_string(ratios.largest));
    }
  }
}

TEST(CheckpointSchedule, sizes_that_leap_tenfold_take_little_more_than_the_optimum) {
  const Shape shapes[] = {[](double x) { return x < 0.25 ? 1.0 : 10.0; },
                          [](double x) { return x < 0.5 ? 1.0 : 10.0; },
                          [](double x) { return x < 0.75 ? 1.0 : 10.0; },
                          [](double x) { return x < 0.25 ? 10.0 : 1.0; },
                          [](double x) { return x < 0.5 ? 10.0 : 1.0; },
                          [](double x) { return x < 0.75 ? 10.0 : 1.0; },
                          [](double x) { return x < 0.33 || x > 0.66 ? 1.0 : 10.0; },
                          [](double x) { return x < 0.33 || x > 0.66 ? 10.0 : 1.0; }};
  for (const double noise : {0.0, 0.05}) {
    for (std::size_t shape = 0; shape < std::size(shapes); ++shape) {
      const Ratios ratios = ratios_of(shapes[shape], noise);
      EXPECT_LE(ratios.mean, 1.13) << "shape " << shape << ", noise " << noise;
      EXPECT_LE(ratios.largest, 1.45) << "shape " << shape << ", noise " << noise;
      RecordProperty("shape " + std::to_string(shape) + ", noise " + std::to_string(noise),
                     std::to_string(ratios.mean) + ", " + std::to_string(ratios.largest));
    }
  }
}

// The first place depends on sizes that are unknown when the model begins.
TEST(CheckpointSchedule, where_all_states_fit_no_step_runs_twice) {
  for (const double change : {0.0, 0.9}) {
    std::vector<Count> sizes(many_states);
    std::mt19937 random(3);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = std::llround(1000 - change * static_cast<double>(i) * 1000 / double(many_states)) +
                 static_cast<Count>(random() % 50);
    Program program(sizes, {Count{10'000} * std::ssize(sizes)});
    program.reverse();
    EXPECT_LE(program.steps_run, std::ssize(sizes) + 100) << change;
  }
}

TEST(CheckpointSchedule, two_states_are_stored_for_their_sizes_in_the_quickest_tier) {
  for (const Count states : {2, 3, 9}) {
    const auto run = [&](bool tells, double keeping) {
      Program program(equal(100, 8), {24, 8 * states});
      program.state.keeping = keeping;
      program.tells_sizes = tells;
      program.reverse();
      return program;
    };
    const Program program = run(true, 0), untold = run(false, 0);
    EXPECT_EQ(program.steps_run, untold.steps_run);
    EXPECT_EQ(program.writes[0], untold.writes[0] + 2) << states;
    EXPECT_EQ(program.writes[1], untold.writes[1]) << states;
    EXPECT_EQ(run(true, 1).writes, run(false, 1).writes);  // if that has a cost
  }
  Program all(equal(20, 8), {160});
  all.reverse();
  EXPECT_EQ(all.writes[0], 19);
}

/// The least time, in steps, if storing a state costs `keeping` steps.
double least_time(Count l, Count c, double keeping) {
  std::vector<std::vector<double>> least(static_cast<std::size_t>(c) + 1);
  for (std::size_t s = 1; s < least.size(); ++s) {
    least[s].resize(static_cast<std::size_t>(l) + 1);
    for (std::size_t n = 2; n < least[s].size(); ++n) {
      least[s][n] = static_cast<double>(n * (n - 1)) / 2;
      for (std::size_t m = 1; s > 1 && m < n; ++m)
        least[s][n] = std::min(
            least[s][n], static_cast<double>(m) + keeping + least[s - 1][n - m] + least[s][m]);
    }
  }
  return least.back().back();
}

/// What a run of l steps with space for c states of equal size takes.
struct Taken {
  Count steps = 0, kept = 0;
  double with(double keeping) const {
    return static_cast<double>(steps) + keeping * static_cast<double>(kept - 1);
  }
};
Taken taken_by(Count l, Count c, double told) {
  Program program(equal(l, 1), {c});
  program.state.keeping = told;
  program.reverse();
  return {program.steps_run, program.writes[0]};
}

TEST(CheckpointSchedule, what_takes_longer_to_keep_than_to_compute_is_computed) {
  double most_saved = 1;
  for (const Count l : {2, 3, 10, 37, 64, 65, 150, 700})
    for (const Count c : {1, 2, 3, 7, 20, 100}) {
      const Taken untold = taken_by(l, c, 0);
      for (const double keeping : {0.3, 1.0, 4.0, 20.0, 100.0}) {
        const double took = taken_by(l, c, keeping).with(keeping);
        const double least = std::max(least_time(l, c, keeping), 0.1);
        EXPECT_LE(took, least * (l <= 64    ? 1 + 1e-9
                                 : l <= 512 ? 1.01
                                            : 1.1))
            << l << ", " << c << ", " << keeping;
        most_saved = std::max(most_saved, untold.with(keeping) / std::max(took, 0.1));
      }
    }
  EXPECT_GT(most_saved, 10);
  AdjointState wrong;
  wrong.adjoint = 3;
  wrong.free = {1};
  wrong.keeping = -1;
  EXPECT_THROW(next_action(wrong), Error);
}

TEST(CheckpointSchedule, to_tell_what_keeping_takes_harms_no_long_run_nor_one_with_much_room) {
  for (const Count l : {300, 1000})
    for (const Count c : {20, 100, 300, 1000}) {
      const Taken untold = taken_by(l, c, 0);
      for (const double keeping : {0.3, 1.0, 3.0})
        EXPECT_LE(taken_by(l, c, keeping).with(keeping), untold.with(keeping) * 1.001)
            << l << ", " << c << ", " << keeping;
    }
}

TEST(CheckpointSchedule, an_answer_does_not_depend_on_what_was_asked_before) {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<Count> of) {
    return of.begin()[random() % of.size()];
  };
  for (int i = 0; i < 200; ++i) {
    AdjointState state;
    state.adjoint = pick({2, 9, 60, 61, 300, 500, 512, 513, 700, 1200});
    state.stored = {{0, 1}};
    state.free = {pick({1, 2, 5, 6, 40, 200})};
    state.keeping = static_cast<double>(pick({1, 8, 50}));
    const AdjointAction asked = next_action(state);
    AdjointAction anew;  // in a new thread without a cached table
    std::thread([&] { anew = next_action(state); }).join();
    EXPECT_EQ(asked, anew) << *state.adjoint << ", " << state.free[0] << ", " << state.keeping;
  }
}

TEST(CheckpointSchedule, stored_states_make_room_where_there_turns_out_to_be_less) {
  Program program(equal(40, 8), {1000});
  while (program.state.stored.size() < 3) program.carry_out(next_action(program.state));
  program.state.free[0] = 0;  // the disk is full: it holds only states 0, 1 and 2
  program.reverse();
  EXPECT_LE(program.steps_run, least_steps(40, 3) * 11 / 10);  // with these three: 705
}

TEST(CheckpointSchedule, any_sizes_and_tiers_are_reversed_within_the_room) {
  std::mt19937 random(7);
  for (int run = 0; run < random_runs; ++run) {
    std::vector<Count> sizes(std::uniform_int_distribution<std::size_t>(1, 60)(random));
    for (Count& s : sizes) s = std::uniform_int_distribution<Count>(0, 100)(random);
    std::vector<Count> room(std::uniform_int_distribution<std::size_t>(1, 3)(random));
    for (Count& r : room) r = std::uniform_int_distribution<Count>(0, 300)(random);
    room.back() += 100;  // the first one fits
    Program program(sizes, room);
    program.reverse();  // this checks that no tier is overfull
    EXPECT_EQ(program.state.model, 1);
    Program unknown(sizes, room);
    unknown.run_on();
    unknown.reverse();
    EXPECT_EQ(unknown.state.model, 1);
    Program priced(sizes, room);
    priced.state.keeping = run % 9;
    priced.reverse();
    EXPECT_EQ(priced.state.model, 1);
  }
}

TEST(CheckpointSchedule, room_that_changes_and_a_program_that_begins_anew_are_no_matter) {
  Program program(equal(100, 10), {100});
  for (int i = 0; i < 60; ++i) program.carry_out(next_action(program.state));
  program.state.model = AdjointState::nowhere;  // killed; only stored states are left
  program.state.free[0] = 0;
  program.reverse();
  EXPECT_EQ(program.state.model, 1);
}

/// Accesses of the slower tier if it has the slots that are used least.
Count least_accesses(Count l, Count quick, Count slow) {
  // Each slot is a tier here: states are stored in slots as on a stack.
  const Count c = quick + slow;
  Program program(equal(l, 1), {c});
  std::vector<Count> by_slot(static_cast<std::size_t>(c));
  for (bool more = true; more;) {
    const auto action = next_action(program.state);
    if (action.kind == Kind::store) ++by_slot[program.state.stored.size()];
    if (action.kind == Kind::restore) ++by_slot[program.state.stored.size() - 1];
    more = program.carry_out(action);
  }
  std::sort(by_slot.begin(), by_slot.end());
  return std::accumulate(by_slot.begin(), by_slot.begin() + slow, Count{0});
}

TEST(CheckpointSchedule, what_is_read_least_lies_in_the_slower_tier) {
  Count fixed = 0, ours = 0;
  double worst = 0;
  for (Count l = 2; l <= 60; ++l) {
    for (Count quick = 1; quick <= 5; ++quick) {
      for (Count slow = 1; slow <= 5; ++slow) {
        Program program(equal(l, 1), {quick, slow});
        program.state.here = 1;
        program.reverse();
        EXPECT_EQ(program.steps_run, least_steps(l, quick + slow));
        const Count accesses = program.writes[1] + program.reads[1];
        const Count least = least_accesses(l, quick, slow);
        worst = std::max(worst, static_cast<double>(accesses) / static_cast<double>(least));
        if (l - 1 < quick) EXPECT_EQ(accesses, 0);
        fixed += least;
        ours += accesses;
      }
    }
  }
  EXPECT_LE(worst, 1.5);  // three instead of two, in very short runs
  EXPECT_LT(ours, fixed * 95 / 100);
}

TEST(CheckpointSchedule, a_run_whose_end_nobody_knows_repeats_no_more_than_it_must) {
  double worst = 0;
  for (Count c = 2; c <= 10; ++c) {
    for (Count l = 2; l <= 150; ++l) {
      Program program(equal(l, 4), {4 * c});
      program.run_on();
      // The first run of the last step is no repetition; a known end avoids it.
      const Count known = least_steps(l, c) + 1;
      program.reverse();
      EXPECT_GE(program.steps_run, known);
      worst = std::max(worst, static_cast<double>(program.steps_run) / static_cast<double>(known));
    }
  }
  EXPECT_LT(worst, 1.34);
}

Errc code_of(const AdjointState& state) {
  try {
    next_action(state);
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

TEST(CheckpointSchedule, what_makes_no_sense_is_refused) {
  AdjointState state;
  state.adjoint = 5;
  state.free = {10};
  EXPECT_EQ(code_of(state), Errc::ok);
  state.here = 11;
  EXPECT_EQ(code_of(state), Errc::eno_space);
  state.adjoint.reset();
  EXPECT_EQ(code_of(state), Errc::eno_space);
  state = {.model = AdjointState::nowhere,
           .adjoint = 5,
           .stored = {},
           .free = {10},
           .here = {},
           .seen = {},
           .keeping = 0};
  EXPECT_EQ(code_of(state), Errc::einval);
  state = {.model = 0,
           .adjoint = 5,
           .stored = {{3, 1}, {3, 1}},
           .free = {10},
           .here = {},
           .seen = {},
           .keeping = 0};
  EXPECT_EQ(code_of(state), Errc::einval);
  state = {.model = 0,
           .adjoint = 5,
           .stored = {{3, -1}},
           .free = {10},
           .here = {},
           .seen = {},
           .keeping = 0};
  EXPECT_EQ(code_of(state), Errc::einval);
  state = {
      .model = 0, .adjoint = 5, .stored = {}, .free = {-1}, .here = {}, .seen = {}, .keeping = 0};
  EXPECT_EQ(code_of(state), Errc::einval);
  state = {
      .model = 0, .adjoint = -1, .stored = {}, .free = {1}, .here = {}, .seen = {}, .keeping = 0};
  EXPECT_EQ(code_of(state), Errc::einval);
}

TEST(CheckpointSchedule, one_step_needs_no_room) {
  AdjointState state;
  state.adjoint = 1;
  EXPECT_EQ(next_action(state), (AdjointAction{Kind::turn, 0, 1, 0}));
}

TEST(CheckpointSchedule, long_runs_do_not_overflow) {
  EXPECT_EQ(steps_within(3, 7), 120);
  EXPECT_EQ(steps_within(0, 7), 1);
  EXPECT_EQ(steps_within(7, -1), 0);
  EXPECT_EQ(steps_within(1'000'000, 1'000'000), std::numeric_limits<Count>::max());
  AdjointState state;
  state.adjoint = std::numeric_limits<Count>::max();
  state.stored = {{0, 1}};
  state.free = {std::numeric_limits<Count>::max(), std::numeric_limits<Count>::max()};
  EXPECT_EQ(next_action(state).kind, Kind::advance);
  state.keeping = 5;
  EXPECT_EQ(next_action(state).kind, Kind::advance);
  state.keeping = 0;
  state.seen = {{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(next_action(state).kind, Kind::advance);
}

}  // namespace checkpoint_schedule_test
}  // namespace forebay
