// Definition of dimensions, variables and attributes.
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "api/pnetcdf/typed_calls.h"
#include "array/convert.h"
#include "array/names.h"
#include "array/out_of_range.h"
#include "dataset/decompositions.h"

namespace forebay::pnetcdf {

namespace {

/// Returns the owner of attributes. Errc::enotvar.
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

Type type_argument(nc_type xtype, const Dataset& ds) {
  const auto type = static_cast<Type>(xtype);
  check_type(type, ds.schema().version);
  return type;
}

/// Returns a name for something new. Errc::ebadname, emaxname, and enameinuse if it is `taken`.
template <typename Taken>
std::string new_name_argument(const char* name, Taken&& taken) {
  std::string checked = checked_name(name_argument(name));
  if (taken(checked)) throw Error(Errc::enameinuse, "the name \"" + checked + "\" is in use");
  return checked;
}

std::string_view bytes_of(const void* data, Count size) {
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

/// Errc::einval: the values cannot be an attribute.
void check_values(const Dataset& ds, const char* name, Type type, Count len, const void* value) {
  Count bytes = 0;
  if (len < 0 || (len > 0 && value == nullptr) ||
      (ds.schema().version < 3 && len > std::numeric_limits<std::int32_t>::max()) ||
      !multiply_fits(len, size_of(type), bytes)) {
    throw Error(Errc::einval,
                std::string("attribute ") + name + ": no value, or an impossible length");
  }
}

/// Checks the common arguments of def_var and def_decom_var, in PnetCDF's order.
SharedArguments check_variable_arguments(const Dataset& ds, const char* name, nc_type xtype,
                                         int ndims, const int* dimidsp) {
  check_define_mode(ds);
  const std::string checked = checked_name(name_argument(name));
  type_argument(xtype, ds);
  if (ndims < 0) throw Error(Errc::einval, "variable " + checked + ": ndims is negative");
  new_name_argument(name, [&](const auto& text) { return ds.schema().find_var(text); });
  if (ndims > 0 && dimidsp == nullptr) {
    throw Error(Errc::einval, "variable " + checked + ": dimids is a null pointer");
  }
  for (int i = 0; i < ndims; ++i) ds.schema().dim(dimidsp[i]);
  const std::string_view dimids = bytes_of(dimidsp, ndims * Count{sizeof(int)});
  return {{Errc::emultidefine_var_name, checked},
          {Errc::emultidefine_var_type, xtype},
          {Errc::emultidefine_var_ndims, ndims},
          {Errc::emultidefine_var_dimids, dimids}};
}

}  // namespace

// A value out of range is stored as fill value; the error is reported after the attribute is
// stored.
int put_attribute(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset len, Type native,
                  const void* value) noexcept {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    std::optional<Error> range;
    ds.change_definitions([&] {
      std::string checked;
      check_call(ds, "put_att", [&]() -> SharedArguments {
        check_writable(ds);
        owner_argument(ds, varid);
        checked = checked_name(name_argument(name));
        const Type type = type_argument(xtype, ds);
        const Type memory = native == Type::none ? type : native;
        if (!convertible(type, memory)) {
          throw Error(Errc::echar, "attribute " + checked + ": text and numbers do not convert");
        }
        check_values(ds, name, type, len, value);
        return {{Errc::emultidefine_attr_name, checked},
                {Errc::emultidefine_fnc_args, varid},
                {Errc::emultidefine_attr_type, xtype},
                {Errc::emultidefine_attr_len, len},
                {Errc::emultidefine_attr_val, bytes_of(value, len * size_of(memory))}};
      });
      Attribute attribute;
      attribute.name = std::move(checked);
      attribute.type = static_cast<Type>(xtype);
      attribute.count = len;
      attribute.value.resize(static_cast<std::size_t>(len * size_of(attribute.type)));
      if (native == Type::none) native = attribute.type;
      const int version = ds.schema().version;
      const Type external = external_for(attribute.type, native, version);
      if (to_external(external, attribute.value.data(), native, value, len, nullptr))
        range = out_of_range({true, external, native, static_cast<const std::byte*>(value), len},
                             attribute);
      ds.put_attribute(owner_argument(ds, varid), std::move(attribute));
    });
    if (range) throw *range;
  });
}

int get_attribute(int ncid, int varid, const char* name, Type native, void* value) noexcept {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    const Attribute& attribute = find_attribute(ds, varid, name);
    if (attribute.count == 0) return;  // for any type
    if (native == Type::none) native = attribute.type;
    if (!convertible(attribute.type, native)) {
      throw Error(Errc::echar, "attribute " + attribute.name + ": text and numbers do not convert");
    }
    if (value == nullptr) throw Error(Errc::einval, "the value is a null pointer");
    const Type external = external_for(attribute.type, native, ds.schema().version);
    const std::byte* const stored = attribute.value.data();
    if (from_external(external, stored, native, value, attribute.count, nullptr))
      throw out_of_range({false, external, native, stored, attribute.count}, attribute);
  });
}

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int ncmpi_def_dim(int ncid, const char* name, MPI_Offset len, int* idp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "def_dim", [&]() -> SharedArguments {
      check_define_mode(ds);
      ds.check_dim(name_argument(name), len);
      return {{Errc::emultidefine_dim_name, name}, {Errc::emultidefine_dim_size, len}};
    });
    const int id = ds.def_dim(name, len);
    if (idp != nullptr) *idp = id;
  });
}

int ncmpi_def_var(int ncid, const char* name, nc_type xtype, int ndims, const int* dimidsp,
                  int* varidp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "def_var",
               [&] { return check_variable_arguments(ds, name, xtype, ndims, dimidsp); });
    const std::span<const int> dimids(dimidsp, static_cast<std::size_t>(ndims));
    const int id = ds.def_var(name, static_cast<Type>(xtype), dimids);
    if (varidp != nullptr) *varidp = id;
  });
}

// Defines a decomposition map (Hou 2023, §6.4.1.1). Collective, in define mode. The dimensions must
// be the same on all ranks; the pieces are each rank's own. Arguments are compared, and errors
// shared, even without safe mode.
int ncmpi_def_decom(int ncid, int ndims, const int* dimids, int nreqs, MPI_Offset* const* starts,
                    MPI_Offset* const* counts, int* decomidp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    std::shared_ptr<const Decomposition> map;
    SharedArguments arguments;
    const auto mine = attempt_to([&] {
      check_define_mode(ds);
      if (ndims <= 0) throw Error(Errc::einval, "a decomposition map has one dimension at least");
      if (dimids == nullptr) throw Error(Errc::einval, "dimids is a null pointer");
      const std::span<const int> dims(dimids, static_cast<std::size_t>(ndims));
      static_assert(sizeof(MPI_Offset) == sizeof(Count));
      map = make_decomposition(ds, dims,
                               {nreqs, reinterpret_cast<const Count* const*>(starts),
                                reinterpret_cast<const Count* const*>(counts)});
      arguments = {{Errc::emultidefine_fnc_args, ndims},
                   {Errc::emultidefine_fnc_args, bytes_of(dimids, ndims * Count{sizeof(int)})}};
    });
    ds.agree_on_call("def_decom", mine, arguments, true);
    const int id = ds.def_decomposition(std::move(map));
    if (decomidp != nullptr) *decomidp = id;
  });
}

// `dimidsp` has the dimensions before the map's, which are the variable's last ones.
int ncmpi_def_decom_var(int ncid, const char* name, nc_type xtype, int ndims, const int* dimidsp,
                        int decomid, int* varidp) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "def_decom_var", [&]() -> SharedArguments {
      SharedArguments arguments = check_variable_arguments(ds, name, xtype, ndims, dimidsp);
      static_cast<void>(decomposition_in(ds.schema(), decomid));
      arguments.emplace_back(Errc::emultidefine_fnc_args, decomid);
      return arguments;
    });
    const std::span<const int> dimids(dimidsp, static_cast<std::size_t>(ndims));
    const int id = ds.def_var_by(name, static_cast<Type>(xtype), dimids, decomid);
    if (varidp != nullptr) *varidp = id;
  });
}

int ncmpi_rename_dim(int ncid, int dimid, const char* name) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    ds.change_definitions([&] {
      check_call(ds, "rename_dim", [&]() -> SharedArguments {
        check_writable(ds);
        const std::string checked = checked_name(name_argument(name));
        ds.schema().dim(dimid);
        new_name_argument(name, [&](const auto& text) {
          return ds.schema().find_dim(text).value_or(dimid) != dimid;
        });
        return {{Errc::emultidefine_dim_name, checked}, {Errc::emultidefine_fnc_args, dimid}};
      });
      ds.rename_dim(dimid, name);
    });
  });
}

int ncmpi_rename_var(int ncid, int varid, const char* name) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    ds.change_definitions([&] {
      check_call(ds, "rename_var", [&]() -> SharedArguments {
        check_writable(ds);
        static_cast<void>(variable_of(ds, varid));
        const std::string checked =
            new_name_argument(name, [&](const auto& text) { return ds.schema().find_var(text); });
        return {{Errc::emultidefine_var_name, checked}, {Errc::emultidefine_fnc_args, varid}};
      });
      ds.rename_var(varid, name);
    });
  });
}

int ncmpi_set_fill(int ncid, int fillmode, int* old_modep) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "set_fill", [&]() -> SharedArguments {
      check_writable(ds);
      check_define_mode(ds);
      return {{Errc::emultidefine_fill_mode, fillmode}};
    });
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
    check_call(ds, "def_var_fill", [&]() -> SharedArguments {
      check_define_mode(ds);
      const Variable& var = variable_of(ds, varid);
      const Count size = fill_value == nullptr ? 0 : size_of(var.type);
      return {{Errc::emultidefine_fnc_args, varid},
              {Errc::emultidefine_fnc_args, no_fill},
              {Errc::emultidefine_fnc_args, fill_value == nullptr},
              {Errc::emultidefine_var_fill_value, bytes_of(fill_value, size)}};
    });
    ds.def_var_fill(varid, no_fill != 0, fill_value);
  });
}

// Chunks (Hou 2023, §5.2.2, §5.4). Call in define mode, equally on all ranks, between a variable's
// definition and the next enddef. `shape` holds elements per dimension, records first; NULL leaves
// the choice to the first flush. `pipeline` is text such as "shuffle,zstd:3".
int ncmpi_var_set_chunk(int ncid, int varid, const MPI_Offset* shape) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    std::vector<Count> wanted;
    check_call(ds, "var_set_chunk", [&]() -> SharedArguments {
      const Variable& var = variable_of(ds, varid);
      if (shape != nullptr) wanted.assign(shape, shape + var.ndims());
      const auto bytes = bytes_of(wanted.data(), std::ssize(wanted) * Count{sizeof(Count)});
      return {{Errc::emultidefine_fnc_args, varid}, {Errc::emultidefine_fnc_args, bytes}};
    });
    ds.set_chunk(varid, wanted);
  });
}

int ncmpi_var_set_filter(int ncid, int varid, const char* pipeline) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "var_set_filter", [&]() -> SharedArguments {
      static_cast<void>(variable_of(ds, varid));
      if (pipeline == nullptr) throw Error(Errc::einval, "the filter pipeline is NULL");
      return {{Errc::emultidefine_fnc_args, varid}, {Errc::emultidefine_fnc_args, pipeline}};
    });
    ds.set_filter(varid, pipeline);
  });
}

// An error of one rank is told to all ranks, even without safe mode, because the others wait for
// it.
int ncmpi_fill_var_rec(int ncid, int varid, MPI_Offset recno) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    const auto mine = attempt_to([&] {
      check_writable(ds);
      if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
      const Variable& var = variable_of(ds, varid);
      if (!var.is_record) throw Error(Errc::enotrecvar, var.name + " is not a record variable");
      if (ds.mode() == Mode::independent) {
        throw Error(Errc::eindep, ds.path() + " is in independent data mode");
      }
      if (recno < 0) throw Error(Errc::einval, "record " + std::to_string(recno));
    });
    SharedArguments arguments;
    if (ds.method().safe_mode)
      arguments = {{Errc::emultidefine_fnc_args, varid}, {Errc::emultidefine_fnc_args, recno}};
    ds.agree_on_call("fill_var_rec", mine, arguments, true);
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
    to.change_definitions([&] {
      check_call(to, "copy_att", [&]() -> SharedArguments {
        check_writable(to);
        owner_argument(from, varid_in);
        owner_argument(to, varid_out);
        return {{Errc::emultidefine_attr_name, name_argument(name)},
                {Errc::emultidefine_fnc_args, varid_in},
                {Errc::emultidefine_fnc_args, varid_out}};
      });
      const Attribute& attribute = find_attribute(from, varid_in, name);
      if (ncid_in == ncid_out && varid_in == varid_out) return;
      to.put_attribute(owner_argument(to, varid_out), attribute, true);
    });
  });
}

int ncmpi_rename_att(int ncid, int varid, const char* name, const char* newname) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    ds.change_definitions([&] {
      check_call(ds, "rename_att", [&]() -> SharedArguments {
        check_writable(ds);
        owner_argument(ds, varid);
        const std::string old = name_argument(name);
        return {{Errc::emultidefine_attr_name, old},
                {Errc::emultidefine_attr_name, checked_name(name_argument(newname))},
                {Errc::emultidefine_fnc_args, varid}};
      });
      ds.rename_attribute(owner_argument(ds, varid), name, newname);
    });
  });
}

int ncmpi_del_att(int ncid, int varid, const char* name) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_call(ds, "del_att", [&]() -> SharedArguments {
      check_writable(ds);
      check_define_mode(ds);
      owner_argument(ds, varid);
      return {{Errc::emultidefine_attr_name, name_argument(name)},
              {Errc::emultidefine_fnc_args, varid}};
    });
    ds.delete_attribute(owner_argument(ds, varid), name);
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
