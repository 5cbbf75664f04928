// The main program of tests made of TEST_CASEs.
//
// Arguments: [--dir DIRECTORY] [--filter TEXT] [--case-timeout SECONDS] [--list]
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/harness.h"

int main(int argc, char** argv) {
  using namespace forebay_test;
  MPI_Init(&argc, &argv);
  std::string directory = default_directory();
  std::string filter;
  int case_timeout = 60;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--dir" && i + 1 < argc) {
      directory = argv[++i];
    } else if (option == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else if (option == "--case-timeout" && i + 1 < argc) {
      case_timeout = std::atoi(argv[++i]);
    } else if (option == "--list") {
      list = true;
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  set_program_name(argv[0]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) mkdir(directory.c_str(), 0777);
  MPI_Barrier(MPI_COMM_WORLD);

  int run = 0;
  int failed = 0;
  for (const auto& test : cases()) {
    if (!filter.empty() && std::string_view(test.name).find(filter) == std::string_view::npos) {
      continue;
    }
    if (list) {
      if (rank == 0) std::printf("%s\n", test.name);
      continue;
    }
    start_watch(test.name, rank, case_timeout);
    Context t(MPI_COMM_WORLD, directory, test.name);
    test.function(t);
    // A case that leaves a file open leaks, and would disturb the ids of the next case.
    int open_files = 0;
    if (ncmpi_inq_files_opened(&open_files, nullptr) == NC_NOERR && open_files != 0) {
      t.fail(__FILE__, __LINE__, std::to_string(open_files) + " files left open");
    }
    stop_watch();
    ++run;
    if (report(t, test.name) != 0) {
      ++failed;
    } else if (rank == 0) {
      unlink(t.path().c_str());
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0 && !list) {
    std::printf("%s on %d ranks: %d cases, %d failed (%s)\n", program_name().c_str(), size, run,
                failed, ncmpi_inq_libvers());
  }
  // A run that matched nothing has shown nothing.
  const bool empty = run == 0 && !list;
  MPI_Finalize();
  return failed != 0 || empty ? 1 : 0;
}
