#include "support/harness.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace forebay_test {
namespace {

std::string& program() {
  static std::string name = "test";
  return name;
}

// Written before each case, read by the alarm handler.
char running_case[256];
int running_rank = 0;

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

}  // namespace

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

void set_program_name(const char* path) {
  const char* base = std::strrchr(path, '/');
  program() = base != nullptr ? base + 1 : path;
}

const std::string& program_name() { return program(); }

void start_watch(const char* name, int rank, int seconds) {
  std::snprintf(running_case, sizeof running_case, "%s", name);
  running_rank = rank;
  std::signal(SIGALRM, on_alarm);
  alarm(static_cast<unsigned>(seconds));
}

void stop_watch() { alarm(0); }

std::string default_directory() {
  const char* given = std::getenv("FOREBAY_TEST_DIR");
  return given != nullptr ? given : ".";
}

int report(Context& t, const char* name) {
  std::string mine;
  for (const auto& failure : t.failures()) {
    mine += "  rank " + std::to_string(t.rank()) + ": " + failure + "\n";
  }
  constexpr size_t longest = 8192;
  if (mine.size() > longest) mine = mine.substr(0, longest) + "...\n";
  int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(t.size()));
  std::vector<int> starts(static_cast<size_t>(t.size()));
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, t.comm());
  int total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<size_t>(total), ' ');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
              t.comm());
  int count = static_cast<int>(t.failures().size());
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_SUM, t.comm());
  if (t.rank() == 0 && count > 0) {
    std::printf("FAILED %s (%d failures)\n%s", name, count, all.c_str());
    std::fflush(stdout);
  }
  return count;
}

Context::Context(MPI_Comm comm, std::string directory, std::string case_name)
    : comm_(comm), directory_(std::move(directory)), case_name_(std::move(case_name)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

std::string Context::path(std::string_view suffix) const {
  return directory_ + "/" + program_name() + "." + case_name_ + ".n" + std::to_string(size_) + "." +
         std::string(suffix);
}

void Context::fail(const char* file, int line, const std::string& message) {
  const char* base = std::strrchr(file, '/');
  failures_.push_back(std::string(base != nullptr ? base + 1 : file) + ":" + std::to_string(line) +
                      ": " + message);
}

Registration::Registration(const char* name, CaseFunction function) {
  cases().push_back({name, function});
}

std::string error_name(int code) {
  const char* name = ncmpi_strerrno(code);
  return std::string(name != nullptr ? name : "?") + " (" + std::to_string(code) + ")";
}

bool is_forebay() { return std::strstr(ncmpi_inq_libvers(), "Forebay") != nullptr; }

bool same_on_all_ranks(Context& t, int64_t value) {
  int64_t pair[2] = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_INT64_T, MPI_MAX, t.comm());
  return pair[0] == -pair[1];
}

}  // namespace forebay_test
