// Dimensions, variables, attributes: definition.
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "api/pnetcdf/calls.h"
#include "core/names.h"
#include "data/convert.h"

namespace forebay::pnetcdf {

namespace {

/// The owner of attributes; Errc::enotvar.
VarId owner_argument(const Dataset& ds, int varid) {
  if (varid != NC_GLOBAL) static_cast<void>(ds.variable(varid));
  return varid == NC_GLOBAL ? global_id : varid;
}

const Attribute& find_attribute(const Dataset& ds, int varid, const char* name) {
  const AttributeList& list = ds.schema().attributes_of(owner_argument(ds, varid));
  const std::string text = name_argument(name);
  if (const auto i = list.find(normalized_name(text))) return list[*i];
  throw Error(Errc::enotatt, "there is no attribute \"" + text + "\"");
}

Type attribute_type(nc_type xtype, const Dataset& ds) {
  const auto type = static_cast<Type>(xtype);
  if (!is_valid(type)) {
    throw Error(Errc::ebadtype, "type " + std::to_string(xtype) + " is unknown");
  }
  if (!valid_in_version(type, ds.schema().version)) {
    throw Error(Errc::estrictcdf2, std::string("type ") + name_of(type) + " needs CDF-5");
  }
  return type;
}

}  // namespace

// A value out of range is stored as fill value, and reported once the attribute is there.
int put_attribute(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset len, Type native,
                  const void* value) noexcept {
  return guard([&]() -> int {
    Dataset& ds = dataset(ncid);
    if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
    const VarId owner = owner_argument(ds, varid);
    Attribute attribute;
    attribute.name = name_argument(name);
    attribute.type = attribute_type(xtype, ds);
    if (native == Type::none) native = attribute.type;
    if (!convertible(attribute.type, native)) {
      throw Error(Errc::echar, "attribute " + attribute.name + ": text and numbers do not convert");
    }
    Count bytes = 0;
    const int version = ds.schema().version;
    if (len < 0 || (len > 0 && value == nullptr) ||
        (version < 5 && len > std::numeric_limits<std::int32_t>::max()) ||
        !multiply_fits(len, size_of(attribute.type), bytes)) {
      throw Error(Errc::einval,
                  "attribute " + attribute.name + ": no value, or an impossible length");
    }
    attribute.count = len;
    attribute.value.resize(static_cast<std::size_t>(bytes));
    const Type external = external_for(attribute.type, native, version);
    const bool out_of_range =
        to_external(external, attribute.value.data(), native, value, len, nullptr);
    ds.put_attribute(owner, std::move(attribute));
    return out_of_range ? NC_ERANGE : NC_NOERR;
  });
}

int get_attribute(int ncid, int varid, const char* name, Type native, void* value) noexcept {
  return guard([&]() -> int {
    const Dataset& ds = dataset(ncid);
    const Attribute& attribute = find_attribute(ds, varid, name);
    if (attribute.count == 0) return NC_NOERR;  // whatever the type
    if (native == Type::none) native = attribute.type;
    if (!convertible(attribute.type, native)) {
      throw Error(Errc::echar, "attribute " + attribute.name + ": text and numbers do not convert");
    }
    if (value == nullptr) throw Error(Errc::einval, "the value is a null pointer");
    const Type external = external_for(attribute.type, native, ds.schema().version);
    const bool out_of_range =
        from_external(external, attribute.value.data(), native, value, attribute.count, nullptr);
    return out_of_range ? NC_ERANGE : NC_NOERR;
  });
}

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int ncmpi_def_dim(int ncid, const char* name, MPI_Offset len, int* idp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.in_define_mode()) throw Error(Errc::enotindefine, ds.path() + " is not in define mode");
    const int id = ds.def_dim(name_argument(name), len);
    if (idp != nullptr) *idp = id;
  });
}

int ncmpi_def_var(int ncid, const char* name, nc_type xtype, int ndims, const int* dimidsp,
                  int* varidp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.in_define_mode()) throw Error(Errc::enotindefine, ds.path() + " is not in define mode");
    const std::string text = name_argument(name);
    if (ndims < 0 || (ndims > 0 && dimidsp == nullptr)) {
      throw Error(Errc::einval,
                  "variable " + text + ": no dimensions, or a negative number of them");
    }
    const std::span<const int> dimids(dimidsp, static_cast<std::size_t>(ndims));
    const int id = ds.def_var(text, static_cast<Type>(xtype), dimids);
    if (varidp != nullptr) *varidp = id;
  });
}

int ncmpi_rename_dim(int ncid, int dimid, const char* name) {
  return guard([&] { dataset(ncid).rename_dim(dimid, name_argument(name)); });
}

int ncmpi_rename_var(int ncid, int varid, const char* name) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
    static_cast<void>(variable_of(ds, varid));
    ds.rename_var(varid, name_argument(name));
  });
}

int ncmpi_set_fill(int ncid, int fillmode, int* old_modep) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
    if (fillmode != NC_FILL && fillmode != NC_NOFILL) {
      throw Error(Errc::einval, "fill mode " + std::to_string(fillmode) + " is unknown");
    }
    const bool old = ds.set_fill(fillmode == NC_FILL);
    if (old_modep != nullptr) *old_modep = old ? NC_FILL : NC_NOFILL;
  });
}

int ncmpi_def_var_fill(int ncid, int varid, int no_fill, const void* fill_value) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.in_define_mode()) throw Error(Errc::enotindefine, ds.path() + " is not in define mode");
    static_cast<void>(variable_of(ds, varid));
    ds.def_var_fill(varid, no_fill != 0, fill_value);
  });
}

// Chunks (D5 §5.2.2, §5.4). Define mode, in every rank alike, between a variable's definition and
// the enddef that follows. `shape` holds elements per dimension, records first; NULL leaves the
// choice to the first flush. `pipeline` is text such as "shuffle,zstd:3".
int ncmpi_var_set_chunk(int ncid, int varid, const MPI_Offset* shape) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    const Variable& var = variable_of(ds, varid);
    std::vector<Count> wanted;
    if (shape != nullptr) wanted.assign(shape, shape + var.ndims());
    ds.set_chunk(varid, wanted);
  });
}

int ncmpi_var_set_filter(int ncid, int varid, const char* pipeline) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    static_cast<void>(variable_of(ds, varid));
    if (pipeline == nullptr) throw Error(Errc::einval, "the filter pipeline is NULL");
    ds.set_filter(varid, pipeline);
  });
}

int ncmpi_fill_var_rec(int ncid, int varid, MPI_Offset recno) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
    if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
    const Variable& var = variable_of(ds, varid);
    if (!var.is_record) throw Error(Errc::enotrecvar, var.name + " is not a record variable");
    if (recno < 0) throw Error(Errc::einval, "record " + std::to_string(recno));
    if (ds.mode() == Mode::independent) {
      throw Error(Errc::eindep, ds.path() + " is in independent data mode");
    }
    ds.fill_record(varid, recno);
  });
}

int ncmpi_put_att(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset nelems,
                  const void* value) {
  return put_attribute(ncid, varid, name, xtype, nelems, Type::none, value);
}

int ncmpi_get_att(int ncid, int varid, const char* name, void* value) {
  return get_attribute(ncid, varid, name, Type::none, value);
}

int ncmpi_copy_att(int ncid_in, int varid_in, const char* name, int ncid_out, int varid_out) {
  return guard([&] {
    const Dataset& from = dataset(ncid_in);
    Dataset& to = dataset(ncid_out);
    if (!to.writable()) throw Error(Errc::eperm, to.path() + " was opened for reading only");
    const Attribute& attribute = find_attribute(from, varid_in, name);
    const VarId owner = owner_argument(to, varid_out);
    if (ncid_in == ncid_out && varid_in == varid_out) return;
    to.put_attribute(owner, attribute, true);
  });
}

int ncmpi_rename_att(int ncid, int varid, const char* name, const char* newname) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    ds.rename_attribute(owner_argument(ds, varid), name_argument(name), name_argument(newname));
  });
}

int ncmpi_del_att(int ncid, int varid, const char* name) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    ds.delete_attribute(varid == NC_GLOBAL ? global_id : varid, name_argument(name));
  });
}

int ncmpi_inq_att(int ncid, int varid, const char* name, nc_type* xtypep, MPI_Offset* lenp) {
  return guard([&] {
    const Attribute& attribute = find_attribute(dataset(ncid), varid, name);
    if (xtypep != nullptr) *xtypep = static_cast<nc_type>(attribute.type);
    if (lenp != nullptr) *lenp = attribute.count;
  });
}

int ncmpi_inq_attid(int ncid, int varid, const char* name, int* idp) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const Attribute& attribute = find_attribute(ds, varid, name);
    const AttributeList& list = ds.schema().attributes_of(owner_argument(ds, varid));
    if (idp != nullptr) *idp = static_cast<int>(&attribute - &list[0]);
  });
}

int ncmpi_inq_atttype(int ncid, int varid, const char* name, nc_type* xtypep) {
  return ncmpi_inq_att(ncid, varid, name, xtypep, nullptr);
}

int ncmpi_inq_attlen(int ncid, int varid, const char* name, MPI_Offset* lenp) {
  return ncmpi_inq_att(ncid, varid, name, nullptr, lenp);
}

int ncmpi_inq_attname(int ncid, int varid, int attnum, char* name) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const AttributeList& list = ds.schema().attributes_of(owner_argument(ds, varid));
    if (attnum < 0 || attnum >= list.size()) {
      throw Error(Errc::enotatt, "there is no attribute number " + std::to_string(attnum));
    }
    if (name == nullptr) throw Error(Errc::einval, "the name is a null pointer");
    std::strcpy(name, list[attnum].name.c_str());
  });
}
