// What the phases of the injection program share.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support/harness.h"

namespace injection {

inline int rank = 0;
inline int size = 1;
/// Of a row of each variable; 4 bytes each.
inline MPI_Offset columns = 1000;
/// Ranks disagree, or data are wrong.
inline bool wrong = false;
/// Error codes that collective calls returned.
inline std::vector<int> seen;
/// The calls that returned them.
inline std::vector<std::string> failed_calls;

/// Takes the code of a collective call, which must be the same on every rank. Collective. True when
/// the call succeeded.
inline bool ok(int code, const char* what) {
  int pair[2] = {code, -code};
  MPI_Allreduce(MPI_IN_PLACE, pair, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (pair[0] != -pair[1]) {
    std::printf("rank %d: %s returned %s, other ranks something else\n", rank, what,
                forebay_test::error_name(code).c_str());
    wrong = true;
  }
  if (code != NC_NOERR) {
    seen.push_back(code);
    failed_calls.emplace_back(what);
  }
  return pair[0] == NC_NOERR && pair[1] == NC_NOERR;
}

inline int value_of(MPI_Offset row, MPI_Offset column) {
  return static_cast<int>(row * 7 + column);
}

/// The phase `rewrite`, for files with chunked variables: see injection_rewrite.cc.
void rewrite(const char* path);

}  // namespace injection
