// Inquiries about what a file is and holds.
#include <algorithm>
#include <cstring>
#include <string>

#include "api/pnetcdf/files.h"
#include "api/pnetcdf/interface.h"
#include "array/chunk_grid.h"
#include "array/convert.h"
#include "array/names.h"
#include "comm/mpi.h"
#include "dataset/dataset.h"
#include "dataset/decompositions.h"
#include "dataset/file_sharing.h"
#include "dataset/probe.h"

namespace forebay::pnetcdf {

namespace {

/// Stores a result if the caller has room for it.
template <typename To, typename From>
void give(To* to, From value) {
  if (to != nullptr) *to = static_cast<To>(value);
}

void give(char* to, const std::string& text) {
  if (to != nullptr) std::strcpy(to, text.c_str());
}

/// Returns one fact about an open file.
template <typename To, typename Fact>
int inquire(int ncid, To* to, Fact&& fact) noexcept {
  return guard([&] { give(to, fact(static_cast<const Dataset&>(dataset(ncid)))); });
}

Count length_of(const Dataset& ds, const Dimension& dim) {
  return dim.is_record() ? ds.schema().numrecs : dim.length;
}

int count_variables(const Dataset& ds, bool record) {
  const auto& vars = ds.schema().vars;
  return static_cast<int>(std::count_if(
      vars.begin(), vars.end(), [record](const Variable& v) { return v.is_record == record; }));
}

/// As PnetCDF: what is of classic files alone.
void refuse_in_netcdf4(const Dataset& ds, const char* what) {
  if (is_netcdf4(ds.schema().version))
    throw Error(Errc::enotsupport, std::string("netCDF-4 files have no ") + what);
}

}  // namespace

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int ncmpi_inq(int ncid, int* ndimsp, int* nvarsp, int* ngattsp, int* unlimdimidp) {
  return guard([&] {
    const Schema& schema = dataset(ncid).schema();
    give(ndimsp, schema.dims.size());
    give(nvarsp, schema.vars.size());
    give(ngattsp, schema.attributes.size());
    give(unlimdimidp, schema.record_dim().value_or(-1));
  });
}

int ncmpi_inq_ndims(int ncid, int* ndimsp) {
  return ncmpi_inq(ncid, ndimsp, nullptr, nullptr, nullptr);
}

int ncmpi_inq_nvars(int ncid, int* nvarsp) {
  return ncmpi_inq(ncid, nullptr, nvarsp, nullptr, nullptr);
}

int ncmpi_inq_natts(int ncid, int* ngattsp) {
  return ncmpi_inq(ncid, nullptr, nullptr, ngattsp, nullptr);
}

int ncmpi_inq_unlimdim(int ncid, int* unlimdimidp) {
  return ncmpi_inq(ncid, nullptr, nullptr, nullptr, unlimdimidp);
}

int ncmpi_inq_num_rec_vars(int ncid, int* nvarsp) {
  return inquire(ncid, nvarsp, [](const Dataset& ds) { return count_variables(ds, true); });
}

int ncmpi_inq_num_fix_vars(int ncid, int* nvarsp) {
  return inquire(ncid, nvarsp, [](const Dataset& ds) { return count_variables(ds, false); });
}

int ncmpi_inq_format(int ncid, int* formatp) {
  return inquire(ncid, formatp, [](const Dataset& ds) { return ds.schema().version; });
}

int ncmpi_inq_version(int ncid, int* NC_mode) {
  return inquire(ncid, NC_mode, [](const Dataset& ds) {
    switch (ds.schema().version) {
      case 5:
        return NC_64BIT_DATA;
      case 2:
        return NC_64BIT_OFFSET;
      case 3:
        return NC_NETCDF4;
      case 4:
        return NC_NETCDF4 | NC_CLASSIC_MODEL;
      default:
        return NC_CLASSIC_MODEL;
    }
  });
}

int ncmpi_inq_file_format(const char* filename, int* formatp) {
  return guard([&] {
    if (filename == nullptr || *filename == '\0') throw Error(Errc::ebad_file, "the path is empty");
    give(formatp, probe_format(filename).value_or(NC_FORMAT_UNKNOWN));
  });
}

int ncmpi_inq_path(int ncid, int* pathlen, char* path) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    give(pathlen, ds.given_path().size());
    give(path, ds.given_path());
  });
}

int ncmpi_inq_files_opened(int* num, int* ncids) {
  return guard([&] {
    if (num == nullptr) throw Error(Errc::einval, "num is a null pointer");
    const std::vector<int> ids = open_files();
    *num = static_cast<int>(ids.size());
    if (ncids != nullptr) std::copy(ids.begin(), ids.end(), ncids);
  });
}

int ncmpi_inq_striping(int ncid, int* striping_size, int* striping_count) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    refuse_in_netcdf4(ds, "striping");
    const Method& method = ds.method();
    give(striping_size, method.striping_unit);
    give(striping_count, method.striping_factor);
  });
}

int ncmpi_inq_put_size(int ncid, MPI_Offset* size) {
  return inquire(ncid, size, [](const Dataset& ds) { return ds.moved().put; });
}

int ncmpi_inq_get_size(int ncid, MPI_Offset* size) {
  return inquire(ncid, size, [](const Dataset& ds) { return ds.moved().got; });
}

int ncmpi_inq_header_size(int ncid, MPI_Offset* size) {
  return inquire(ncid, size, [](const Dataset& ds) { return ds.header_size(); });
}

int ncmpi_inq_header_extent(int ncid, MPI_Offset* extent) {
  return inquire(ncid, extent, [](const Dataset& ds) { return ds.schema().header_extent; });
}

// The shape is all zeros until the first flush chooses one. Errc::einval: the variable is not
// chunked.
int ncmpi_var_get_chunk(int ncid, int varid, MPI_Offset* shape) {
  return guard([&] {
    const Variable& var = variable_of(dataset(ncid), varid);
    if (!var.chunking) throw Error(Errc::einval, "variable " + var.name + " is not chunked");
    if (shape == nullptr) return;
    std::fill_n(shape, var.ndims(), 0);
    std::copy(var.chunking->shape.begin(), var.chunking->shape.end(), shape);
  });
}

// Returns the pipeline in canonical form, with a NUL; "none" without one. *lenp: bytes without the
// NUL. Either pointer may be NULL.
int ncmpi_var_get_filter(int ncid, int varid, MPI_Offset* lenp, char* pipeline) {
  return guard([&] {
    const Variable& var = variable_of(dataset(ncid), varid);
    const std::string text = var.chunking ? var.chunking->codec : var.slab_codec.value_or("none");
    if (lenp != nullptr) *lenp = static_cast<MPI_Offset>(text.size());
    if (pipeline != nullptr) std::memcpy(pipeline, text.c_str(), text.size() + 1);
  });
}

// Returns the number of coarser levels of a variable, and the lengths of its dimensions at one
// level; level 0 is the whole variable. Either pointer may be NULL. Errc::einval: it has no such
// level.
int ncmpi_inq_var_levels(int ncid, int varid, int level, int* nlevelsp, MPI_Offset* shape) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    const Variable& var = variable_of(ds, varid);
    const int levels = coarser_levels(var);
    give(nlevelsp, levels);
    if (shape == nullptr) return;
    if (level < 0 || level > levels)
      throw Error(Errc::einval, "variable " + var.name + " has no level " + std::to_string(level));
    const std::vector<Count> lengths = level == 0 ? var.shape : at_level(var, level).shape;
    std::copy(lengths.begin(), lengths.end(), shape);
    if (var.is_record) shape[0] = ds.schema().numrecs;
  });
}

// Counts the maps by which variables of the file were defined, and those of this session.
int ncmpi_inq_ndecoms(int ncid, int* ndecomsp) {
  return inquire(ncid, ndecomsp,
                 [](const Dataset& ds) { return ds.schema().decompositions.size(); });
}

// This rank's numbers of pieces and elements are looked up only if wanted. They are Errc::einval if
// another number of ranks defined the map.
int ncmpi_inq_decom(int ncid, int decomid, int* ndimsp, int* dimidsp, int* nranksp, int* nreqsp,
                    MPI_Offset* nelemsp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    const Decomposition& map = decomposition_in(ds.schema(), decomid);
    give(ndimsp, map.dims().size());
    if (dimidsp != nullptr) std::copy(map.dims().begin(), map.dims().end(), dimidsp);
    give(nranksp, map.ranks());
    if (nreqsp == nullptr && nelemsp == nullptr) return;
    const Decomposition& own = ds.own_decomposition(decomid);
    give(nreqsp, own.pieces());
    give(nelemsp, own.elements());
  });
}

// -1: the variable was not defined by a map.
int ncmpi_inq_var_decom(int ncid, int varid, int* decomidp) {
  return guard([&] { give(decomidp, variable_of(dataset(ncid), varid).decomposition); });
}

int ncmpi_inq_recsize(int ncid, MPI_Offset* recsize) {
  return inquire(ncid, recsize, [](const Dataset& ds) { return ds.record_stride(); });
}

int ncmpi_inq_file_info(int ncid, MPI_Info* info_used) {
  return guard([&] {
    const HintMap hints = to_hints(dataset(ncid).method());
    if (info_used == nullptr) return;
    check_mpi(MPI_Info_create(info_used), "MPI_Info_create");
    for (const auto& [key, value] : hints) {
      if (key.empty() || key.size() >= MPI_MAX_INFO_KEY || value.empty()) continue;
      check_mpi(
          MPI_Info_set(*info_used, key.c_str(), value.substr(0, MPI_MAX_INFO_VAL - 1).c_str()),
          "MPI_Info_set");
    }
  });
}

int ncmpi_get_file_info(int ncid, MPI_Info* info_used) {
  return ncmpi_inq_file_info(ncid, info_used);
}

int ncmpi_inq_malloc_size(MPI_Offset*) { return NC_ENOTENABLED; }

int ncmpi_inq_malloc_max_size(MPI_Offset*) { return NC_ENOTENABLED; }

int ncmpi_inq_malloc_list(void) { return NC_ENOTENABLED; }

int ncmpi_delete(const char* filename, MPI_Info) {
  return guard([&] {
    if (filename == nullptr) throw Error(Errc::ebad_file, "the path is a null pointer");
    file_sharing().remove(filename);
  });
}

int ncmpi_inq_dimid(int ncid, const char* name, int* idp) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const auto id = ds.schema().find_dim(normalized_name(name_argument(name)));
    if (!id) throw Error(Errc::ebaddim, std::string("there is no dimension \"") + name + "\"");
    give(idp, *id);
  });
}

int ncmpi_inq_dim(int ncid, int dimid, char* name, MPI_Offset* lenp) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const Dimension& dim = ds.schema().dim(dimid);
    give(name, dim.name);
    give(lenp, length_of(ds, dim));
  });
}

int ncmpi_inq_dimname(int ncid, int dimid, char* name) {
  return ncmpi_inq_dim(ncid, dimid, name, nullptr);
}

int ncmpi_inq_dimlen(int ncid, int dimid, MPI_Offset* lenp) {
  return ncmpi_inq_dim(ncid, dimid, nullptr, lenp);
}

int ncmpi_inq_varid(int ncid, const char* name, int* varidp) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const auto id = ds.schema().find_var(normalized_name(name_argument(name)));
    if (!id) throw Error(Errc::enotvar, std::string("there is no variable \"") + name + "\"");
    give(varidp, *id);
  });
}

// For NC_GLOBAL only the number of attributes can be asked.
int ncmpi_inq_var(int ncid, int varid, char* name, nc_type* xtypep, int* ndimsp, int* dimidsp,
                  int* nattsp) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const bool only_natts = !name && !xtypep && !ndimsp && !dimidsp;
    if (varid == NC_GLOBAL && only_natts) return give(nattsp, ds.schema().attributes.size());
    const Variable& var = variable_of(ds, varid);
    give(name, var.name);
    give(xtypep, var.type);
    give(ndimsp, var.ndims());
    if (dimidsp != nullptr) std::copy(var.dimids.begin(), var.dimids.end(), dimidsp);
    give(nattsp, var.attributes.size());
  });
}

int ncmpi_inq_varname(int ncid, int varid, char* name) {
  return guard([&] { give(name, variable_of(dataset(ncid), varid).name); });
}

int ncmpi_inq_vartype(int ncid, int varid, nc_type* xtypep) {
  return guard([&] { give(xtypep, variable_of(dataset(ncid), varid).type); });
}

int ncmpi_inq_varndims(int ncid, int varid, int* ndimsp) {
  return guard([&] { give(ndimsp, variable_of(dataset(ncid), varid).ndims()); });
}

int ncmpi_inq_vardimid(int ncid, int varid, int* dimidsp) {
  return guard([&] {
    const Variable& var = variable_of(dataset(ncid), varid);
    if (dimidsp != nullptr) std::copy(var.dimids.begin(), var.dimids.end(), dimidsp);
  });
}

int ncmpi_inq_varnatts(int ncid, int varid, int* nattsp) {
  return ncmpi_inq_var(ncid, varid, nullptr, nullptr, nullptr, nullptr, nattsp);
}

int ncmpi_inq_varoffset(int ncid, int varid, MPI_Offset* offset) {
  return guard([&] {
    const Variable& var = variable_of(dataset(ncid), varid);
    refuse_in_netcdf4(dataset(ncid), "offsets of variables");
    give(offset, var.begin);
  });
}

int ncmpi_inq_var_fill(int ncid, int varid, int* no_fill, void* fill_value) {
  return guard([&] {
    const Variable& var = variable_of(dataset(ncid), varid);
    give(no_fill, var.no_fill ? 1 : 0);
    if (fill_value == nullptr) return;
    std::byte value[8];
    default_fill(var.type, value);
    const auto own = var.attributes.find(_FillValue);
    if (own && var.attributes[*own].type == var.type && var.attributes[*own].count == 1) {
      from_external(var.type, var.attributes[*own].value.data(), var.type, value, 1, nullptr);
    }
    std::memcpy(fill_value, value, static_cast<std::size_t>(size_of(var.type)));
  });
}
