#include "workloads/map_file.h"

#include <functional>
#include <numeric>
#include <stdexcept>

#include "backends/backend.h"

namespace forebay::bench {

MapFile::MapFile(const std::string& path) {
  check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid_), path.c_str());
  map_ranks_ = static_cast<int>(dim_length("decomp_nprocs"));
}

MapFile::~MapFile() { ncmpi_close(ncid_); }

std::int64_t MapFile::dim_length(const std::string& name) const {
  int dim = 0;
  MPI_Offset length = 0;
  check(ncmpi_inq_dimid(ncid_, name.c_str(), &dim), name.c_str());
  check(ncmpi_inq_dimlen(ncid_, dim, &length), name.c_str());
  return length;
}

std::vector<int> MapFile::ints(const std::string& name, MPI_Offset start, MPI_Offset count) const {
  int var = 0;
  std::vector<int> values(static_cast<std::size_t>(count));
  check(ncmpi_inq_varid(ncid_, name.c_str(), &var), name.c_str());
  check(ncmpi_get_vara_int_all(ncid_, var, &start, &count, values.data()), name.c_str());
  return values;
}

Decomposition MapFile::read(int number, MapShare share) const {
  const std::string map = "D" + std::to_string(number);
  Decomposition part;
  MPI_Offset ndims = 0;
  check(ncmpi_inq_attlen(ncid_, NC_GLOBAL, (map + ".dims").c_str(), &ndims), map.c_str());
  std::vector<int> dims(static_cast<std::size_t>(ndims));
  check(ncmpi_get_att_int(ncid_, NC_GLOBAL, (map + ".dims").c_str(), dims.data()), map.c_str());
  part.dims.assign(dims.begin(), dims.end());

  const std::vector<int> sizes = ints(map + ".nreqs", 0, map_ranks_);
  const std::vector<int> fill_starts = ints(map + ".fill_starts", 0, map_ranks_);
  const MPI_Offset first =
      std::accumulate(sizes.begin(), sizes.begin() + share.first, MPI_Offset{0});
  const MPI_Offset count =
      std::accumulate(sizes.begin() + share.first, sizes.begin() + share.last, MPI_Offset{0});
  const std::vector<int> offsets = ints(map + ".offsets", first, count);
  const std::vector<int> lengths = ints(map + ".lengths", first, count);
  std::size_t i = 0;
  for (int p = share.first; p < share.last; ++p) {
    const auto rank = static_cast<std::size_t>(p);
    for (int k = 0; k < sizes[rank]; ++k, ++i) {
      part.runs.push_back({offsets[i], lengths[i], k >= fill_starts[rank]});
    }
  }
  const std::int64_t elements =
      std::accumulate(part.dims.begin(), part.dims.end(), std::int64_t{1}, std::multiplies<>());
  for (const Run& run : part.runs) {
    if (run.offset < 0 || run.length < 0 || run.offset + run.length > elements) {
      throw std::runtime_error(map + " names elements beyond its dimensions");
    }
  }
  return part;
}

}  // namespace forebay::bench
