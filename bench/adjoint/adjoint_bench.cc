// The study of checkpoints of an adjoint (Hou 2023, ch. 4; docs/checkpoints.md): `./dev bench
// adjoint` starts it and prints tables. Each way prints one line of JSON.
//
//   check       the adjoint against finite differences and the dot product
//   run         one gradient, with a state kept for each iteration: times and sizes
//   errors      gradients with lossy states and few of them, against the exact one
//   speed       push and pop without a codec against Fortran's unformatted files and memcpy
//   states      push and pop of many small states
//   prefetch    what a reverse sweep waits for states, whose steps take as long as reading one
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "checkpoints/plan/checkpoint_schedule.h"
#include "kept_states.h"
#include "raw_store.h"
#include "shallow_water.h"

#ifdef FOREBAY_BENCH_FORTRAN
extern "C" {
void forebay_bench_write_unformatted(const char* path, const double* values, const std::int64_t* n);
void forebay_bench_read_unformatted(const char* path, double* values, const std::int64_t* n);
}
#endif

namespace forebay::bench {
namespace {

using Json = nlohmann::json;

struct Study {
  ModelOptions model;
  KeptOptions kept;
  int iterations = 32, steps = 8;  ///< steps of the model in each iteration
  std::int64_t checkpoints = 0;    ///< 0: one for each iteration
};

double longest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

std::int64_t total(std::int64_t mine) {
  std::int64_t all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

struct Gradient {
  State slope;
  double outcome = 0, seconds = 0, store_seconds = 0, restore_seconds = 0;
  std::int64_t advances = 0,  ///< iterations, without those that are reversed
      raw_bytes = 0;
  std::vector<std::int64_t> bytes;
};

void advance(ShallowWater& model, State& state, int steps) {
  for (int i = 0; i < steps; ++i) model.step(state);
}

/// An iteration once more, its steps' states in memory, then in the opposite order.
void turn(ShallowWater& model, State& state, int steps, std::optional<State>& adjoint,
          double& outcome) {
  std::vector<State> tape;
  for (int i = 0; i < steps; ++i) {
    tape.push_back(state);
    model.step(state);
  }
  if (!adjoint) {
    outcome = model.outcome(state);
    adjoint = model.slope(state);
  }
  for (; !tape.empty(); tape.pop_back()) model.reverse(tape.back(), *adjoint);
}

Gradient gradient_of(ShallowWater& model, const Study& study) {
  Gradient result;
  KeptStates kept(model, study.kept);
  State state = model.first();
  std::optional<State> adjoint;
  AdjointState plan;
  plan.adjoint = study.iterations;
  const std::int64_t slots = study.checkpoints > 0 ? study.checkpoints : study.iterations;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (;;) {
    plan.free = {slots - static_cast<std::int64_t>(plan.stored.size())};
    const AdjointAction next = study.kept.room > 0 ? kept.next(plan) : next_action(plan);
    if (next.kind == AdjointAction::Kind::done) break;
    switch (next.kind) {
      case AdjointAction::Kind::advance:
        advance(model, state, static_cast<int>(next.to - next.from) * study.steps);
        result.advances += next.to - next.from;
        plan.model = next.to;
        break;
      case AdjointAction::Kind::store:
        if (kept.store(next.from, state)) plan.stored.push_back({next.from, 1});
        break;
      case AdjointAction::Kind::restore:
        kept.restore(next.from, state);
        plan.model = next.from;
        break;
      case AdjointAction::Kind::drop:
        kept.drop(next.from);
        plan.stored.pop_back();
        break;
      default:
        // What was kept is what is reversed, also where it was not read again.
        turn(model, state, study.steps, adjoint, result.outcome);
        plan.adjoint = next.from;
        plan.model = AdjointState::nowhere;
    }
  }
  result.seconds = longest(MPI_Wtime() - begin);
  result.slope = *adjoint;
  result.store_seconds = longest(kept.store_seconds);
  result.restore_seconds = longest(kept.restore_seconds);
  result.raw_bytes = total(kept.raw_bytes);
  for (const std::int64_t size : kept.bytes) result.bytes.push_back(total(size));
  return result;
}

/// The gradient at four points of the first layer, on all ranks.
std::array<double, 4> samples(const ShallowWater& model, const ModelOptions& options,
                              const State& slope) {
  std::array<double, 4> mine{}, all{};
  for (int n = 0; n < 4; ++n) {
    const int j = (1 + 2 * (n / 2)) * options.rows / 4 - model.first_row();
    const int i = (1 + 2 * (n % 2)) * options.columns / 4 - model.first_column();
    if (j >= 0 && j < model.rows() && i >= 0 && i < model.columns())
      mine[static_cast<std::size_t>(n)] = slope.h(0, j + 1, i + 1);
  }
  MPI_Allreduce(mine.data(), all.data(), 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

struct Errors {
  double sampled = 0, whole = 0;
};

Errors errors_of(const ShallowWater& model, const ModelOptions& options, const State& exact,
                 const State& other) {
  Errors errors;
  const auto wanted = samples(model, options, exact), got = samples(model, options, other);
  for (std::size_t n = 0; n < 4; ++n) {
    const double off = got[n] == wanted[n] ? 0 : std::abs(got[n] - wanted[n]) / std::abs(wanted[n]);
    if (std::isnan(off) || off > errors.sampled) errors.sampled = off;  // NaN stays
  }
  State off = other;
  const auto subtract = [](Field& from, const Field& what) {
    for (std::size_t n = 0; n < what.values.size(); ++n) from.values[n] -= what.values[n];
  };
  subtract(off.u, exact.u);
  subtract(off.v, exact.v);
  subtract(off.h, exact.h);
  errors.whole = std::sqrt(model.dot(off, off) / model.dot(exact, exact));
  return errors;
}

// -- ways
// -------------------------------------------------------------------------------------------

void add(State& to, const State& what, double much) {
  const auto one = [much](Field& a, const Field& b) {
    for (std::size_t n = 0; n < b.values.size(); ++n) a.values[n] += much * b.values[n];
  };
  one(to.u, what.u);
  one(to.v, what.v);
  one(to.h, what.h);
}

/// Smooth and of every variable, so that all parts of the adjoint take part.
State direction(const ShallowWater& model, double phase) {
  State made = model.zero();
  const auto fill = [&](Field& x, double shift) {
    for (int k = 0; k < x.layers; ++k)
      for (int j = 1; j <= x.rows; ++j)
        for (int i = 1; i <= x.columns; ++i)
          x(k, j, i) =
              std::sin(phase * (0.7 * (model.first_row() + j) + 1.3 * (model.first_column() + i)) +
                       shift + k);
  };
  fill(made.u, 0);
  fill(made.v, 1);
  fill(made.h, 2);
  return made;
}

/// L of a step around a state, by central differences, whose error is of the second order.
State tangent(ShallowWater& model, const State& at, const State& along) {
  const double much = 1e-4;
  State ahead = at, back = at;
  add(ahead, along, much);
  add(back, along, -much);
  model.step(ahead);
  model.step(back);
  add(ahead, back, -1);
  State made = model.zero();
  add(made, ahead, 0.5 / much);
  return made;
}

Json check_adjoint(ShallowWater& model, const Study& study) {
  State state = model.first();
  advance(model, state, 20);
  // <L x, y> = <x, L* y> for a step.
  const State x = direction(model, 0.11), y = direction(model, 0.37);
  const double forward = model.dot(tangent(model, state, x), y);
  State back = y;
  model.reverse(state, back);
  const double backward = model.dot(x, back);
  const double product_error = std::abs(forward - backward) / std::abs(forward);
  // The gradient of a whole run, with few states.
  const Gradient gradient = gradient_of(model, study);
  const double slope = model.dot(gradient.slope, x);
  double difference_error = 1;
  for (const double much : {1e-2, 1e-3, 1e-4}) {
    double outcomes[2];
    for (const int side : {0, 1}) {
      State run = model.first();
      add(run, x, side == 0 ? -much : much);
      advance(model, run, study.iterations * study.steps);
      outcomes[side] = model.outcome(run);
    }
    const double differences = (outcomes[1] - outcomes[0]) / (2 * much);
    difference_error = std::min(difference_error, std::abs(slope - differences) / std::abs(slope));
  }
  return {{"product_error", product_error},
          {"difference_error", difference_error},
          {"outcome", gradient.outcome},
          {"slope", slope},
          {"right", product_error < 1e-8 && difference_error < 1e-6}};
}

Json run(ShallowWater& model, const Study& study) {
  const Gradient g = gradient_of(model, study);
  return {{"codec", study.kept.codec}, {"seconds", g.seconds},
          {"store", g.store_seconds},  {"restore", g.restore_seconds},
          {"raw_bytes", g.raw_bytes},  {"bytes", g.bytes},
          {"advances", g.advances},    {"samples", samples(model, study.model, g.slope)},
          {"outcome", g.outcome}};
}

Json errors(ShallowWater& model, Study study, const std::vector<std::string>& codecs,
            const std::vector<int>& budgets) {
  study.kept.hints = "checkpoint_memory=1GiB";
  study.kept.codec = "none";
  const State exact = gradient_of(model, study).slope;
  Json rows = Json::array();
  for (const std::string& codec : codecs)
    for (const int budget : budgets) {
      study.kept.codec = codec;
      study.checkpoints = budget;
      const Gradient g = gradient_of(model, study);
      const Errors off = errors_of(model, study.model, exact, g.slope);
      rows.push_back({{"codec", codec},
                      {"checkpoints", budget},
                      {"sampled", off.sampled},
                      {"whole", off.whole},
                      {"advances", g.advances}});
    }
  return rows;
}

double median(std::vector<double> some) {
  std::sort(some.begin(), some.end());
  return some[some.size() / 2];
}

/// Microseconds that a push and a pop of 64 bytes take while there are up to `most` states.
Json states(const Study& study, std::int64_t most) {
  Json rows = Json::array();
  std::vector<double> values(8, 1.5);
  for (const char* tier : {"memory", "files"}) {
    const bool in_files = std::string(tier) == "files";
    for (std::int64_t n = 1000; n <= most; n *= 10) {
      RawStore store(study.kept.name + "_states",
                     in_files ? "checkpoint_memory=0" : "checkpoint_memory=4GiB", values);
      const double begin = MPI_Wtime();
      for (std::int64_t step = 0; step < n; ++step) store.push(step);
      const double between = MPI_Wtime();
      for (std::int64_t step = 0; step < n; ++step) store.pop();
      const double each = 1e6 / static_cast<double>(n);
      rows.push_back({{"tier", tier},
                      {"states", n},
                      {"push_us", (between - begin) * each},
                      {"pop_us", (MPI_Wtime() - between) * each}});
    }
  }
  return rows;
}

/// Medians of rounds in which ways take turns. One state at a time is pushed and popped, in memory
/// and in files that the system's cache holds.
Json speed(const Study& study, std::int64_t bytes, int rounds) {
  const std::int64_t n = bytes / static_cast<std::int64_t>(sizeof(double));
  std::vector<double> values(static_cast<std::size_t>(n), 1.5), copy(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  struct Way {
    std::string name;
    std::function<void()> write, read;
    std::vector<double> write_seconds, read_seconds;
  };
  std::vector<Way> ways;
  std::vector<double> other(values.size());
  ways.push_back({"memcpy",
                  [&] { std::memcpy(copy.data(), values.data(), values.size() * 8); },
                  [&] { std::memcpy(values.data(), copy.data(), values.size() * 8); },
                  {},
                  {}});
#ifdef FOREBAY_BENCH_FORTRAN
  const std::string unformatted = study.kept.name + ".unformatted";
  ways.push_back({"unformatted",
                  [&] { forebay_bench_write_unformatted(unformatted.c_str(), values.data(), &n); },
                  [&] { forebay_bench_read_unformatted(unformatted.c_str(), values.data(), &n); },
                  {},
                  {}});
#endif
  std::vector<RawStore> stores;
  stores.reserve(2);
  stores.emplace_back(study.kept.name + "_memory", "checkpoint_memory=4GiB", values);
  stores.emplace_back(study.kept.name + "_files", "checkpoint_memory=0", values);
  for (std::size_t s = 0; s < 2; ++s)
    ways.push_back({s == 0 ? "memory tier" : "file tier",
                    [&stores, s] { stores[s].push(); },
                    [&stores, s] { stores[s].peek(); },
                    {},
                    {}});
  for (int round = -2; round < rounds; ++round)
    for (Way& way : ways) {
      const double begin = MPI_Wtime();
      way.write();
      const double between = MPI_Wtime();
      way.read();
      if (round < 0) continue;
      way.write_seconds.push_back(between - begin);
      way.read_seconds.push_back(MPI_Wtime() - between);
    }
#ifdef FOREBAY_BENCH_FORTRAN
  std::remove(unformatted.c_str());
#endif
  Json rows = Json::array();
  for (const Way& way : ways)
    rows.push_back({{"way", way.name},
                    {"bytes", bytes},
                    {"write", median(way.write_seconds)},
                    {"read", median(way.read_seconds)}});
  return rows;
}

void compute_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

/// States in files, read in the order that was told ahead; between two the program computes for
/// `ratio` times what reading one takes.
Json prefetch(ShallowWater& model, const Study& study, double ratio) {
  KeptStates kept(model, study.kept);
  State state = model.first();
  std::vector<std::int64_t> order;
  for (int step = 0; step < study.iterations; ++step) {
    kept.store(step, state);
    order.insert(order.begin(), step);
  }
  kept.restore(0, state);
  const double reading = longest(kept.restore_seconds);
  Json made{{"reading", reading}, {"ratio", ratio}};
  for (const bool ahead : {false, true}) {
    if (ahead) kept.expect(order);
    // The first one has nothing before it in which it could be read.
    compute_for(reading * ratio);
    kept.restore_seconds = 0;
    const double begin = MPI_Wtime();
    for (const std::int64_t step : order) {
      kept.restore(step, state);
      compute_for(reading * ratio);
    }
    const double seconds = longest(MPI_Wtime() - begin);
    made[ahead ? "expected" : "not_expected"] = {{"seconds", seconds},
                                                 {"waited", longest(kept.restore_seconds)}};
  }
  return made;
}

}  // namespace
}  // namespace forebay::bench

int main(int argc, char** argv) {
  using namespace forebay::bench;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Study study;
  std::string name = "run", which = "a";
  std::vector<std::string> codecs{"float32", "zfp:accuracy=1e-3", "sz3:abs=1e-3"};
  std::vector<int> budgets{1, 2, 4, 8, 16, 32};
  std::int64_t bytes = 32 << 20;
  std::int64_t most_states = 1'000'000;
  int rounds = 15, columns = 0, rows = 0, layers = 0, constants = -1;
  double ratio = 1.2;
  CLI::App app("The study of checkpoints of an adjoint; ./dev bench adjoint starts it.");
  app.require_subcommand(1);
  app.add_option("--case", which,
                 "a: large tiles, as hs94; b: tiles of 20 x 10 and an implicit solve, as halfpipe")
      ->check(CLI::IsMember({"a", "b"}));
  app.add_option("--name", name, "path of the checkpoints' files");
  app.add_option("--columns", columns, "of the grid");
  app.add_option("--rows", rows, "of the grid");
  app.add_option("--layers", layers, "of the model");
  app.add_option("--constants", constants, "fields of a state that do not change");
  app.add_option("--iterations", study.iterations, "of the run; each is kept, or run again");
  app.add_option("--steps", study.steps, "of the model in an iteration");
  app.add_option("--checkpoints", study.checkpoints, "states that are kept at a time; 0: all");
  app.add_option("--room", study.kept.room,
                 "raw states of a rank that there is room for; the schedule goes by bytes");
  app.add_option("--codec", study.kept.codec, "of the states");
  app.add_option("--hints", study.kept.hints, "of the checkpoints");
  app.add_flag("--sync", study.kept.syncs, "after each state, as a part of storing it");
  app.add_option("--codecs", codecs, "of errors")->delimiter('+');
  app.add_option("--budgets", budgets, "of errors")->delimiter(',');
  app.add_option("--bytes", bytes, "of a state of speed");
  app.add_option("--rounds", rounds, "of speed");
  app.add_option("--most", most_states, "states, of states");
  app.add_option("--ratio", ratio, "of computing to reading, of prefetch");
  for (const char* way : {"check", "run", "errors", "speed", "states", "prefetch"})
    app.add_subcommand(way)->fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = rank == 0 ? app.exit(e) : e.get_exit_code();
    MPI_Finalize();
    return code;
  }
  const bool is_b = which == "b";
  study.model = {columns > 0 ? columns
                 : is_b      ? 160
                             : 96,
                 rows > 0 ? rows
                 : is_b   ? 80
                          : 96,
                 layers > 0 ? layers
                 : is_b     ? 2
                            : 5,
                 is_b};
  study.kept.name = name;
  study.kept.constants = constants >= 0 ? constants : is_b ? 17 : 27;
  if (is_b) {
    study.kept.tile_columns = 20;
    study.kept.tile_rows = 10;
  }
  const std::string way = app.get_subcommands()[0]->get_name();
  Json result;
  try {
    ShallowWater model(MPI_COMM_WORLD, study.model);
    if (way == "check") result = check_adjoint(model, study);
    if (way == "run") result = run(model, study);
    if (way == "errors") result = errors(model, study, codecs, budgets);
    if (way == "speed") result = speed(study, bytes, rounds);
    if (way == "states") result = states(study, most_states);
    if (way == "prefetch") result = prefetch(model, study, ratio);
  } catch (const std::exception& e) {
    if (rank == 0) std::fprintf(stderr, "%s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank == 0) std::printf("%s\n", result.dump().c_str());
  MPI_Finalize();
  return way == "check" && !result["right"].get<bool>() ? EXIT_FAILURE : EXIT_SUCCESS;
}
