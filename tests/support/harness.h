// GoogleTest on several MPI ranks.
//
// A test is a TEST that every rank runs. Checks are EXPECT_*, never ASSERT_*: a rank with a failure
// has to keep taking part in the collective calls of the others. After each test rank 0 prints what
// failed on the others beside its own, and the test fails on all ranks, so that the program's exit
// code is the same everywhere. A test that makes no progress for `--case-timeout` seconds is named
// and ended, so that a hang is a failure with a name.
//
// Arguments: [--dir DIRECTORY] [--case-timeout SECONDS], and GoogleTest's, such as
// --gtest_filter=*TEXT* and --gtest_list_tests.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace forebay_test {

// MPI_COMM_WORLD, and where files go: `--dir`, else $FOREBAY_TEST_DIR, else the working directory.
struct World {
  int rank = 0, size = 1;
  std::string program, directory;

  // A scratch file of the running test: the same on every rank, distinct between tests, programs
  // and numbers of ranks. The one without a suffix is removed after a test that has passed.
  std::string path(std::string_view suffix = "nc") const;
};
inline World world;

// Initialises MPI and GoogleTest, and takes their options and those above out of the arguments.
void begin_tests(int* argc, char*** argv);
// Runs the tests and ends MPI. Returns the exit code, the same on every rank; not 0 where no test
// was chosen.
int run_tests();

// Ends the program with exit code 124 and a line that names what it does unless stop_watch() is
// called within `seconds`.
void start_watch(const char* name, int rank, int seconds);
void stop_watch();

// Name of a PnetCDF error code with its number, for messages.
std::string error_name(int code);

// True when the library under test is Forebay, false for a peer. Expectations that only Forebay
// promises (or that a peer is known to break) ask this.
bool is_forebay();

// Collective.
bool same_on_all_ranks(int64_t value);

}  // namespace forebay_test

// The call returns this error code.
#define EXPECT_ERR(code, call) \
  EXPECT_EQ(::forebay_test::error_name(code), ::forebay_test::error_name(call))
#define EXPECT_OK(call) EXPECT_ERR(NC_NOERR, call)
