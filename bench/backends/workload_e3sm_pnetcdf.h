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
// As blobs (Hou 2023, §6.4): a file of each node's own, in which a mapped variable is a list of
// what the node's ranks hold, one after another: iput_vara of one piece. That is what PnetCDF could
// write at best if nothing had to be in the array's order; maps, which would have to be told once,
// are left out.
//
// Starts and counts are arrays of one pointer a piece, built once for each map, as in E3SM-IO.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/workload_e3sm.h"

namespace forebay::bench {

enum class E3smWay { pieces, maps, blobs };

class E3smPnetcdf final : public E3smWorkload {
 public:
  /// Collective. `file_ranks`: that share a file of blobs, 0: those of a node. Throws
  /// std::runtime_error if the inputs cannot be had.
  E3smPnetcdf(const E3smOptions& options, const Team& team, E3smWay way, int file_ranks);
  ~E3smPnetcdf() override;
  E3smPnetcdf(const E3smPnetcdf&) = delete;
  E3smPnetcdf& operator=(const E3smPnetcdf&) = delete;
  nlohmann::json parameters() const override;
  std::vector<std::string> files(const std::string& path) const override;

  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;

 private:
  void share_files(int file_ranks);
  static std::string file_of(const std::string& path, int file);
  bool define(int ncid, int var, std::span<const int> dims, int* id);
  void define_by_map(int ncid, int var, std::span<const int> dims, int* id);
  void define_as_blobs(int ncid, int var, std::span<const int> dims, int* id);
  void post_all(int ncid, bool put, Phases& phases);
  void post(int ncid, bool put, int varid, const Slot& slot);
  void wait(int ncid, bool put, Phases& phases);

  struct Blob {
    MPI_Offset begin = 0, of_file = 0;  // elements of a map, before this rank's and of all ranks
    int dim = -1;
  };

  E3smWay way_;
  MPI_Comm file_ranks_;  // that share a file
  int file_ = 0, files_ = 1;
  std::vector<Blob> blobs_;                               // by map
  std::map<std::pair<int, std::vector<int>>, int> maps_;  // of a map and dimensions: the decomid
  std::vector<int> var_ids_;
};

}  // namespace forebay::bench
