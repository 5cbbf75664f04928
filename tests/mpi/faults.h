// Calls of the C interface, and what can be wrong with their arguments, as a table.
//
// A fault changes one argument of a call (its slot) so that the call has to fail with a code. The
// faults of a call stand in the order in which they are found: where two of them hold, the first
// one's code is returned. Faults of one slot exclude each other.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <string>
#include <vector>

#include "support/harness.h"

namespace forebay_test {

// Four files with the same contents in CDF-2, one in each state a file can be in. Dimensions time
// (unlimited, two records), y (4), x (6); variables 0 grid(y,x) int, 1 series(time,x) int, 2
// text(x) char, 3 scalar int, 4 wide(y,x) double; with Forebay 5 mapped(y,x) int, defined by
// decomposition map 0 of x, pieces 0, 1 and 2; attributes "a" (one int) and "b" (one int) of
// the file and of grid.
struct Files {
  int defining = -1, collective = -1, independent = -1, reading = -1;
};
enum : int { time_dim, y_dim, x_dim };
enum : int { grid, series, text, scalar, wide, mapped };

// Collective. A buffer for bput is attached to the file in collective mode only.
Files open_files();
void close_files(const Files& files);

// All that calls take. The defaults are right for all of them, once the file is chosen.
struct Arguments {
  int ncid = -1, varid = grid, num = 1, request = NC_REQ_NULL;
  MPI_Offset start_[2] = {0, 0}, count_[2] = {2, 3}, stride_[2] = {1, 1}, imap_[2] = {3, 1};
  MPI_Offset *start = start_, *count = count_, *stride = stride_, *imap = imap_;
  MPI_Offset **starts = &start, **counts = &count, **strides = &stride, **imaps = &imap;
  int data[24] = {};
  int first = 0, n = 1;  // of pieces of a decomposition
  void* buf = data;
  MPI_Offset bufcount = 6;
  MPI_Datatype buftype = MPI_INT, filetype = MPI_INT;
  // definitions
  int varid2 = series, ncid2 = -1, dimid = x_dim, ndims = 2, dimids_[2] = {y_dim, x_dim};
  const int* dimids = dimids_;
  int decomid = 0;
  const char *name = "a", *newname = "new";
  nc_type type = NC_INT;
  MPI_Offset length = 1, minfree[4] = {0, 4, 0, 4};
  int mode = NC_FILL, no_fill = 0;

  Arguments() = default;
  Arguments(const Arguments&) = delete;  // it points into itself
};

struct Fault {
  const char* slot;
  const char* what;
  int code;
  void (*apply)(const Files&, Arguments&);
  bool late = false;  // in safe mode found only after the arguments have been compared
};

struct Call {
  std::string name;
  int (*run)(Arguments&);
  std::vector<Fault> faults;
  // Changes after which the call is right still, but not if only some ranks make them: in safe mode
  // it then fails with their code. Where a fault is late, the code of its slot comes first.
  std::vector<Fault> differences = {};
  void (*prepare)(Arguments&) = nullptr;  // what is right for this call alone
  int Files::*file = &Files::defining;    // the one the call is right for
  bool collective = true;
};

// The functions that define, rename and change modes.
std::vector<Call> definition_calls();
// Every function that moves data: put, get, iput, iget, bput, mput, mget of each kind, with int in
// memory and flexible.
std::vector<Call> data_calls();

}  // namespace forebay_test
