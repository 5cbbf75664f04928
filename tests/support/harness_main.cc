// The main program of tests that take no options of their own.
#include <cstdio>

#include "support/harness.h"

int main(int argc, char** argv) {
  forebay_test::begin_tests(&argc, &argv);
  if (argc > 1) {
    std::fprintf(stderr, "unknown option %s\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return forebay_test::run_tests();
}
