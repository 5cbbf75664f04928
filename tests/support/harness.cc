#include "support/harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

namespace forebay_test {
namespace {

// Written before each test, read by the alarm handler.
char running_case[256];
int running_rank = 0;
#ifdef __SANITIZE_ADDRESS__
constexpr int times_as_slow = 3;  // as the limits of whole tests
#else
constexpr int times_as_slow = 1;
#endif
int case_timeout = 150 * times_as_slow;

void on_alarm(int) {
  char line[512];
  const int n = std::snprintf(line, sizeof line, "TIMEOUT in case %s on rank %d\n", running_case,
                              running_rank);
  if (n > 0) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line, static_cast<size_t>(n));
  }
  // The launcher ends the other ranks when one of them dies.
  _exit(124);
}

// What failed on this rank.
std::string failures(const testing::TestResult& result) {
  std::string text;
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.failed()) continue;
    const char* file = part.file_name() != nullptr ? part.file_name() : "?";
    text +=
        std::string(file) + ":" + std::to_string(part.line_number()) + ": " + part.message() + "\n";
  }
  constexpr size_t longest = 8192;
  return text.size() <= longest ? text : text.substr(0, longest) + "...\n";
}

// The texts of all ranks behind each other, on rank 0. Collective.
std::string gather(const std::string& mine) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(world.size)), starts(lengths.size() + 1);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (size_t i = 0; i < lengths.size(); ++i) starts[i + 1] = starts[i] + lengths[i];
  std::string all(static_cast<size_t>(starts.back()), ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
              MPI_COMM_WORLD);
  return all;
}

// GoogleTest prints on rank 0 only; this makes the failures of the others failures of all.
class Ranks : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string who =
        "rank " + std::to_string(world.rank) + " of " + std::to_string(world.size);
    here_.emplace(__FILE__, __LINE__, who);
    start_watch(test.name(), world.rank, case_timeout);
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    // A test that leaves a file open leaks, and would disturb the ids of the next one.
    int open_files = 0;
    if (ncmpi_inq_files_opened(&open_files, nullptr) == NC_NOERR) {
      EXPECT_EQ(0, open_files);
    }
    stop_watch();
    here_.reset();
    const int mine = test.result()->Failed() ? 1 : 0;
    int failed = mine;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const std::string others = gather(world.rank == 0 ? "" : failures(*test.result()));
    if (failed > mine) ADD_FAILURE() << "on other ranks:\n" << others;
    if (failed == 0 && world.rank == 0) unlink(world.path().c_str());
  }

  std::optional<testing::ScopedTrace> here_;  // names the rank in each failure
};

}  // namespace

std::string World::path(std::string_view suffix) const {
  const char* test = testing::UnitTest::GetInstance()->current_test_info()->name();
  return directory + "/" + program + "." + test + ".n" + std::to_string(size) + "." +
         std::string(suffix);
}

void begin_tests(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  testing::InitGoogleTest(argc, *argv);
  // Shuffled, tests come in the same order on all ranks.
  if (testing::GTEST_FLAG(random_seed) == 0) testing::GTEST_FLAG(random_seed) = 1;
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world.rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Ranks);
  world.program = std::filesystem::path((*argv)[0]).filename();
  const char* given = std::getenv("FOREBAY_TEST_DIR");
  world.directory = given != nullptr ? given : ".";
  int left = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view option = (*argv)[i];
    if (option == "--dir" && i + 1 < *argc) {
      world.directory = (*argv)[++i];
    } else if (option == "--case-timeout" && i + 1 < *argc) {
      case_timeout = std::atoi((*argv)[++i]) * times_as_slow;
    } else {
      (*argv)[left++] = (*argv)[i];
    }
  }
  *argc = left;
  if (world.rank == 0) mkdir(world.directory.c_str(), 0777);
  MPI_Barrier(MPI_COMM_WORLD);
}

int run_tests() {
  if (world.rank == 0)
    std::printf("%s on %d ranks, %s\n", world.program.c_str(), world.size, ncmpi_inq_libvers());
  const int code = RUN_ALL_TESTS();
  // A run that matched nothing has shown nothing.
  const bool empty = testing::UnitTest::GetInstance()->test_to_run_count() == 0;
  MPI_Finalize();
  return code != 0 || empty ? 1 : 0;
}

void start_watch(const char* name, int rank, int seconds) {
  std::snprintf(running_case, sizeof running_case, "%s", name);
  running_rank = rank;
  std::signal(SIGALRM, on_alarm);
  alarm(static_cast<unsigned>(seconds));
}

void stop_watch() { alarm(0); }

std::string error_name(int code) {
  const char* name = ncmpi_strerrno(code);
  return std::string(name != nullptr ? name : "?") + " (" + std::to_string(code) + ")";
}

bool is_forebay() { return std::strstr(ncmpi_inq_libvers(), "Forebay") != nullptr; }

bool same_on_all_ranks(int64_t value) {
  int64_t pair[2] = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return pair[0] == -pair[1];
}

}  // namespace forebay_test
