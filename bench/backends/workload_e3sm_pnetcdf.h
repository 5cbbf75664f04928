#pragma once

// The E3SM workload as the model's I/O library writes it through PnetCDF.
//
//     write   create, define everything, enddef,
//             iput_varn of every mapped variable (one call a variable and record, all pieces of
//             this rank), iput_vara of the others by rank 0, wait_all after each record or at the
//             end, close
//     read    open, look up every variable, iget_varn / iget_vara and wait_all as above, close
//
// Starts and counts are arrays of one pointer a piece, built once for each map, as in E3SM-IO.

#include <string>
#include <vector>

#include "workloads/workload_e3sm.h"

namespace forebay::bench {

class E3smPnetcdf final : public E3smWorkload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smPnetcdf(const E3smOptions& options, const Team& team);

  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;

 private:
  void post_all(int ncid, bool put, Phases& phases);
  void post(int ncid, bool put, int varid, const Slot& slot);
  void wait(int ncid, Phases& phases);

  std::vector<int> var_ids_;
};

}  // namespace forebay::bench
