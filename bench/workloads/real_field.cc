#include "workloads/real_field.h"

#include <array>
#include <stdexcept>

#include "backends/backend.h"

namespace forebay::bench {
namespace {

constexpr MPI_Offset kMostValues = MPI_Offset{1} << 28;

struct Lengths {
  MPI_Offset planes = 1, rows = 0, columns = 0;
};

Lengths inquire(int ncid, int varid, const std::string& name) {
  int ndims = 0;
  check(ncmpi_inq_varndims(ncid, varid, &ndims), name.c_str());
  if (ndims < 2) throw std::runtime_error(name + " has fewer than two dimensions");
  std::vector<int> dims(static_cast<std::size_t>(ndims));
  check(ncmpi_inq_vardimid(ncid, varid, dims.data()), name.c_str());
  Lengths lengths;
  for (int d = 0; d < ndims; ++d) {
    MPI_Offset length = 0;
    check(ncmpi_inq_dimlen(ncid, dims[static_cast<std::size_t>(d)], &length), name.c_str());
    MPI_Offset& total = d == ndims - 1   ? lengths.columns
                        : d == ndims - 2 ? lengths.rows
                                         : lengths.planes;
    if (length == 0 || length > kMostValues) throw std::runtime_error(name + " has no usable size");
    total = d < ndims - 2 ? total * length : length;
    if (lengths.planes > kMostValues) throw std::runtime_error(name + " is too large");
  }
  if (lengths.rows > kMostValues / lengths.columns ||
      lengths.planes > kMostValues / (lengths.rows * lengths.columns)) {
    throw std::runtime_error(name + " is too large");
  }
  return lengths;
}

}  // namespace

RealField::RealField(std::string name, std::int64_t planes, std::int64_t rows, std::int64_t columns,
                     std::vector<float> values)
    : name_(std::move(name)),
      planes_(planes),
      rows_(rows),
      columns_(columns),
      values_(std::move(values)) {}

std::shared_ptr<const RealField> RealField::load(const std::string& file_and_variable,
                                                 const Team& team) {
  const std::size_t colon = file_and_variable.rfind(':');
  if (colon == std::string::npos) {
    throw std::runtime_error("a real field is FILE:VARIABLE, not " + file_and_variable);
  }
  const std::string path = file_and_variable.substr(0, colon);
  const std::string variable = file_and_variable.substr(colon + 1);
  std::array<MPI_Offset, 3> shape{};
  std::vector<float> values;
  if (team.rank == 0) {
    int ncid = 0;
    int varid = 0;
    check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid), path.c_str());
    check(ncmpi_inq_varid(ncid, variable.c_str(), &varid), variable.c_str());
    const Lengths lengths = inquire(ncid, varid, variable);
    shape = {lengths.planes, lengths.rows, lengths.columns};
    values.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
    check(ncmpi_get_var_float_all(ncid, varid, values.data()), variable.c_str());
    check(ncmpi_close(ncid), path.c_str());
  }
  MPI_Bcast(shape.data(), 3, MPI_OFFSET, 0, team.comm);
  values.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_FLOAT, 0, team.comm);
  return std::make_shared<RealField>(file_and_variable.substr(path.rfind('/') + 1), shape[0],
                                     shape[1], shape[2], std::move(values));
}

}  // namespace forebay::bench
