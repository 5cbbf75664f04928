#include "fault/no_memory_cases.h"

#include <execinfo.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/cases.h"

namespace no_memory {

int rank = 0, size = 1;
bool telling = false;

namespace {

constexpr unsigned watch_seconds = 60;  // machines may be loaded
constexpr std::size_t least_cases = 4;  // of each rank that fails, however long they take

const char* program = "";
Case now;
const char* now_in = "";
char history[1024];  // of the case: each step and what came of it
std::size_t told = 0;

void too_late(int) {
  char text[256];
  const int length = std::snprintf(
      text, sizeof text, "%s: rank %d hangs; --rank %d --first %ld --every %ld, step %s\n", program,
      rank, now.rank, now.first, now.every, now_in);
  if (::write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) std::abort();
  if (::write(STDERR_FILENO, history, told) < 0) std::abort();
  void* frames[60];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 60), STDERR_FILENO);
  std::abort();
}

/// Leavings of a case are not the next one's matter.
void clean_up(const std::filesystem::path& file) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::filesystem::create_directories(file.parent_path());
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path()))
      std::filesystem::remove_all(entry.path());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The number of allocations of the rank that is to fail.
long play_case(const char* file, const Case& one, const Play& play) {
  now = one;
  now_in = "";
  told = 0;
  history[0] = '\0';
  clean_up(file);
  ::alarm(watch_seconds);
  Steps steps;
  play(file, steps);
  ::alarm(0);
  long count = steps.allocations();
  if (one.rank >= 0) MPI_Bcast(&count, 1, MPI_LONG, one.rank, MPI_COMM_WORLD);
  return count;
}

double seconds_of_all() {
  double seconds = MPI_Wtime();
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

int without_threads(const char* file, const Play& play) {
  refuse_threads();
  play_case(file, {}, play);
  long refused = refused_threads();
  MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%s: all is right without the %ld threads that were refused\n", program, refused);
  return refused > 0 ? 0 : 1;
}

}  // namespace

void fail(const char* what) {
  std::fprintf(stderr,
               "%s: rank %d: %s; --rank %d --first %ld --every %ld, step %s\n"
               "rank %d:%s\n",
               program, rank, what, now.rank, now.first, now.every, now_in, rank, history);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

bool of_all(bool holds) {
  int least = holds ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least == 1;
}

void Steps::begin(const char* step, bool fails) {
  now_in = step;
  counting_ = fails && armed_ && rank == now.rank;
  if (counting_) arm_allocations(next_failure(), now.every);
}

void Steps::end() {
  if (counting_) count_ += disarm_allocations();
  if (counting_ && telling && failed_allocations() > 0)
    std::fprintf(stderr, "%ld allocations failed in the next line\n", failed_allocations());
}

void Steps::note(const char* step, long outcome) {
  if (telling) std::fprintf(stderr, "rank %d: %s: %ld\n", rank, step, outcome);
  told += static_cast<std::size_t>(
      std::snprintf(history + told, sizeof history - told, " %s %ld", step, outcome));
  told = std::min(told, sizeof history - 1);
}

bool Steps::must_succeed() const { return now.rank < 0 || !armed_; }

/// Of the next step; 0: none.
long Steps::next_failure() const {
  if (now.first == 0) return 0;
  if (count_ < now.first) return now.first - count_;
  return now.every == 0 ? 0 : now.every - (count_ - now.first) % now.every;
}

int run(int argc, char** argv, const char* name, const Play& play) {
  program = name;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::signal(SIGALRM, too_late);
  const char* file = argc > 1 ? argv[1] : "no_memory/file";
  // Whoever repeats a case by hand may name any.
  const auto folder = std::filesystem::path(file).parent_path().filename().string();
  if (!folder.starts_with("no_memory") && !folder.starts_with("no_threads")) {
    std::fprintf(stderr, "%s: all in the file's folder goes: call it no_memory, not %s\n", name,
                 folder.c_str());
    return 2;
  }
  double seconds = 10;
  unsigned long seed = 1;
  Case only;
  bool threads = true;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    const char* given = argv[i + 1];
    if (key == "--seconds")
      seconds = std::atof(given) / (forebay_test::all_cases() ? 1 : forebay_test::one_in);
    if (key == "--seed") seed = std::strtoul(given, nullptr, 10);
    if (key == "--rank") only.rank = std::atoi(given);
    if (key == "--first") only.first = std::atol(given);
    if (key == "--every") only.every = std::atol(given);
    if (key == "--threads") threads = std::atoi(given) != 0;
  }
  if (!threads) return without_threads(file, play);
  if (only.rank >= 0) {
    play_case(file, {}, play);  // first calls allocate what stays, here as with all the cases
    telling = true;
    trace_failed_allocations(rank == only.rank);
    play_case(file, only, play);
    return 0;
  }
  play_case(file, {}, play);
  std::mt19937_64 random(seed);
  long cases = 0;
  std::string counts;
  for (int failing = 0; failing < size; ++failing) {
    const double end = seconds_of_all() + seconds / size;
    const long all = play_case(file, {failing, 0, 0}, play);
    counts += " " + std::to_string(all);
    // One failure at every place; and, every third time, more of them behind it.
    std::vector<long> order(static_cast<std::size_t>(all));
    std::iota(order.begin(), order.end(), 1);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < order.size() && (i < least_cases || seconds_of_all() < end);
         ++i, ++cases)
      play_case(file, {failing, order[i], i % 3 == 2 ? 1 + order[i] % 97 : 0}, play);
  }
  if (rank == 0)
    std::printf(
        "%s: %ld cases, of%s allocations on the ranks that fail: no hang, no crash, no wrong "
        "value\n",
        program, cases, counts.c_str());
  clean_up(file);
  return cases > 0 ? 0 : 1;
}

}  // namespace no_memory
