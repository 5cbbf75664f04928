#include "backends/backend.h"
#include "workloads/cdl.h"
#include "workloads/made_by_ncgen.h"

namespace forebay::bench::cdl {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) {
    check(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id_), path.c_str());
  }
  ~OpenFile() { ncmpi_close(id_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  operator int() const { return id_; }

 private:
  int id_ = -1;
};

Attribute read_attribute(int file, int var, int number) {
  Attribute att;
  char name[NC_MAX_NAME + 1] = {};
  nc_type type = 0;
  MPI_Offset length = 0;
  check(ncmpi_inq_attname(file, var, number, name), "ncmpi_inq_attname");
  check(ncmpi_inq_att(file, var, name, &type, &length), name);
  att.name = name;
  att.type = static_cast<Type>(type);
  const auto n = static_cast<std::size_t>(length);
  if (att.type == Type::Char) {
    std::string text(n, 0);
    check(ncmpi_get_att_text(file, var, name, text.data()), name);
    att.values = std::move(text);
  } else if (att.type == Type::Float || att.type == Type::Double) {
    std::vector<double> reals(n);
    check(ncmpi_get_att_double(file, var, name, reals.data()), name);
    att.values = std::move(reals);
  } else {
    std::vector<long long> integers(n);
    check(ncmpi_get_att_longlong(file, var, name, integers.data()), name);
    att.values = std::vector<std::int64_t>(integers.begin(), integers.end());
  }
  return att;
}

Header read_header(const std::string& path) {
  const OpenFile file(path);
  Header header;
  int dims = 0, vars = 0, atts = 0, record_dim = -1;
  check(ncmpi_inq(file, &dims, &vars, &atts, &record_dim), "ncmpi_inq");
  char name[NC_MAX_NAME + 1] = {};
  for (int d = 0; d < dims; ++d) {
    MPI_Offset length = 0;
    check(ncmpi_inq_dim(file, d, name, &length), "ncmpi_inq_dim");
    header.dims.push_back({name, length, d == record_dim});
  }
  for (int v = 0; v < vars; ++v) {
    nc_type type = 0;
    int ndims = 0, var_atts = 0;
    check(ncmpi_inq_varndims(file, v, &ndims), "ncmpi_inq_varndims");
    Variable var;
    var.dims.resize(static_cast<std::size_t>(ndims));
    check(ncmpi_inq_var(file, v, name, &type, nullptr, var.dims.data(), &var_atts),
          "ncmpi_inq_var");
    var.name = name;
    var.type = static_cast<Type>(type);
    for (int a = 0; a < var_atts; ++a) var.atts.push_back(read_attribute(file, v, a));
    header.vars.push_back(std::move(var));
  }
  for (int a = 0; a < atts; ++a) header.atts.push_back(read_attribute(file, NC_GLOBAL, a));
  return header;
}

}  // namespace

Header parse_file(const std::string& path) { return read_header(MadeByNcgen(path).path()); }

}  // namespace forebay::bench::cdl
