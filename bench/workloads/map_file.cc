#include "workloads/map_file.h"

#include "backends/backend.h"

namespace forebay::bench {

MapFile::MapFile(const std::string& path) {
  check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid_), path.c_str());
}

MapFile::~MapFile() { ncmpi_close(ncid_); }

std::int64_t MapFile::dim_length(const std::string& name) const {
  int dim = 0;
  MPI_Offset length = 0;
  check(ncmpi_inq_dimid(ncid_, name.c_str(), &dim), name.c_str());
  check(ncmpi_inq_dimlen(ncid_, dim, &length), name.c_str());
  return length;
}

std::vector<int> MapFile::ints(const std::string& name, std::int64_t first,
                               std::int64_t number) const {
  int var = 0;
  const MPI_Offset start = first, count = number;
  std::vector<int> values(static_cast<std::size_t>(count));
  check(ncmpi_inq_varid(ncid_, name.c_str(), &var), name.c_str());
  check(ncmpi_get_vara_int_all(ncid_, var, &start, &count, values.data()), name.c_str());
  return values;
}

std::vector<int> MapFile::attribute(const std::string& name) const {
  MPI_Offset length = 0;
  check(ncmpi_inq_attlen(ncid_, NC_GLOBAL, name.c_str(), &length), name.c_str());
  std::vector<int> values(static_cast<std::size_t>(length));
  check(ncmpi_get_att_int(ncid_, NC_GLOBAL, name.c_str(), values.data()), name.c_str());
  return values;
}

}  // namespace forebay::bench
