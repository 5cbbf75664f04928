#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "driver/report.h"
#include "workloads/workload.h"

namespace forebay::bench {

struct RunOptions {
  std::string backend;  ///< name of what is measured, for the report
  std::string path;     ///< the file that is written and read
  bool write = true;
  bool read = true;
  int repeat = 1;
  bool verify = true;
  bool keep = false;      ///< leave the file of the last sample
  bool apart = false;     ///< a barrier at the end of each phase
  std::string die_after;  ///< the phase of a write after which all ranks are killed; empty: none
  MPI_Info info = MPI_INFO_NULL;
};

/// Runs `workload` `repeat` times and returns one record for each operation that was asked for, the
/// same on every rank. A read alone first writes the file, untimed. Collective.
std::vector<Record> run(Workload& workload, const RunOptions& options, const Team& team);

}  // namespace forebay::bench
