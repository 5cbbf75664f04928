#pragma once

// The E3SM workload as the model's I/O library writes it through PnetCDF.
//
//     write   create, define everything, enddef,
//             iput_varn of every mapped variable (one call a variable and record, all pieces of
//             this rank), iput_vara of the others by rank 0, wait_all after each record or at the
//             end, close
//     read    open, look up every variable, iget_varn / iget_vara and wait_all as above, close
//
// By maps, with Forebay's additions: def_decom of every map, def_decom_var of the mapped variables,
// iput_decom and iget_decom in place of varn.
//
// Starts and counts are arrays of one pointer a piece, built once for each map, as in E3SM-IO.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload_e3sm.h"

namespace forebay::bench {

class E3smPnetcdf final : public E3smWorkload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smPnetcdf(const E3smOptions& options, const Team& team, bool by_maps = false);
  nlohmann::json parameters() const override;

  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;

 private:
  bool define_by_map(int ncid, int var, std::span<const int> dims, int* id);
  void post_all(int ncid, bool put, Phases& phases);
  void post(int ncid, bool put, int varid, const Slot& slot);
  void wait(int ncid, Phases& phases);

  bool by_maps_;
  std::map<std::pair<int, std::vector<int>>, int> maps_;  // of a map and dimensions: the decomid
  std::vector<int> var_ids_;
};

}  // namespace forebay::bench
