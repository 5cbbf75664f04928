#include "backends/define.h"

#include <vector>

#include "backends/backend.h"

namespace forebay::bench {
namespace {

void put_attribute(int ncid, int varid, const cdl::Attribute& att) {
  const char* name = att.name.c_str();
  const auto type = static_cast<nc_type>(att.type);
  int status = NC_NOERR;
  if (const auto* text = std::get_if<std::string>(&att.values)) {
    status =
        ncmpi_put_att_text(ncid, varid, name, static_cast<MPI_Offset>(text->size()), text->data());
  } else if (const auto* reals = std::get_if<std::vector<double>>(&att.values)) {
    status = ncmpi_put_att_double(ncid, varid, name, type, static_cast<MPI_Offset>(reals->size()),
                                  reals->data());
  } else {
    const auto& integers = std::get<std::vector<std::int64_t>>(att.values);
    const std::vector<long long> values(integers.begin(), integers.end());
    status = ncmpi_put_att_longlong(ncid, varid, name, type, static_cast<MPI_Offset>(values.size()),
                                    values.data());
  }
  check(status, name);
}

}  // namespace

void define_header(int ncid, const cdl::Header& header, const DefineVariable& otherwise) {
  std::vector<int> dim_ids;
  for (const cdl::Dimension& dim : header.dims) {
    int id = 0;
    check(ncmpi_def_dim(ncid, dim.name.c_str(), dim.unlimited ? NC_UNLIMITED : dim.length, &id),
          dim.name.c_str());
    dim_ids.push_back(id);
  }
  std::vector<int> dims;
  for (std::size_t v = 0; v < header.vars.size(); ++v) {
    const cdl::Variable& var = header.vars[v];
    dims.clear();
    for (int d : var.dims) dims.push_back(dim_ids[static_cast<std::size_t>(d)]);
    int id = 0;
    if (!otherwise || !otherwise(ncid, static_cast<int>(v), dims, &id))
      check(ncmpi_def_var(ncid, var.name.c_str(), static_cast<nc_type>(var.type),
                          static_cast<int>(dims.size()), dims.data(), &id),
            var.name.c_str());
    for (const cdl::Attribute& att : var.atts) put_attribute(ncid, id, att);
  }
  for (const cdl::Attribute& att : header.atts) put_attribute(ncid, NC_GLOBAL, att);
}

}  // namespace forebay::bench
