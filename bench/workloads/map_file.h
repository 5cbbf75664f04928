#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/decomposition.h"

namespace forebay::bench {

/// A recorded map file, opened with the library under test. Each rank reads it for itself.
class MapFile {
 public:
  /// Throws std::runtime_error if the file cannot be read or is no map file.
  explicit MapFile(const std::string& path);
  ~MapFile();
  MapFile(const MapFile&) = delete;
  MapFile& operator=(const MapFile&) = delete;

  int map_ranks() const { return map_ranks_; }
  /// Map `number`, from 1 (`D1`), of the map ranks of `share`.
  Decomposition read(int number, MapShare share) const;

 private:
  std::int64_t dim_length(const std::string& name) const;
  std::vector<int> ints(const std::string& name, MPI_Offset start, MPI_Offset count) const;

  int ncid_ = -1;
  int map_ranks_ = 0;
};

}  // namespace forebay::bench
