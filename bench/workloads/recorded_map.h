#pragma once

// Recorded decomposition maps, read by any library that reads netCDF files.

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/decomposition.h"

namespace forebay::bench {

/// An open map file. Throws where it is none.
class RecordedMaps {
 public:
  virtual ~RecordedMaps() = default;

  int map_ranks() const { return static_cast<int>(dim_length("decomp_nprocs")); }
  /// Map `number`, from 1 (`D1`), of the map ranks of `share`. Throws std::runtime_error for one
  /// that names what is not there.
  Decomposition read(int number, MapShare share) const;

 private:
  virtual std::int64_t dim_length(const std::string& name) const = 0;
  /// All values of an attribute of the file, and some of a variable.
  virtual std::vector<int> attribute(const std::string& name) const = 0;
  virtual std::vector<int> ints(const std::string& name, std::int64_t start,
                                std::int64_t count) const = 0;
};

}  // namespace forebay::bench
