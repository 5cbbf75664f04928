#include "core/consistency.h"

namespace forebay {

namespace {

Errc compare(const AttributeList& a, const AttributeList& b) {
  if (a.size() != b.size()) return Errc::emultidefine_attr_num;
  for (int i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name) return Errc::emultidefine_attr_name;
    if (a[i].type != b[i].type) return Errc::emultidefine_attr_type;
    if (a[i].count != b[i].count) return Errc::emultidefine_attr_len;
    if (a[i].value != b[i].value) return Errc::emultidefine_attr_val;
  }
  return Errc::ok;
}

Errc compare(const Variable& a, const Variable& b) {
  if (a.name != b.name) return Errc::emultidefine_var_name;
  if (a.dimids.size() != b.dimids.size()) return Errc::emultidefine_var_ndims;
  if (a.dimids != b.dimids) return Errc::emultidefine_var_dimids;
  if (a.type != b.type) return Errc::emultidefine_var_type;
  return compare(a.attributes, b.attributes);
}

}  // namespace

Errc first_difference(const Schema& root, const Schema& other) {
  if (root.version != other.version) return Errc::emultidefine_cmode;
  if (root.dims.size() != other.dims.size()) return Errc::emultidefine_dim_num;
  for (std::size_t i = 0; i < root.dims.size(); ++i) {
    if (root.dims[i].length != other.dims[i].length) return Errc::emultidefine_dim_size;
    if (root.dims[i].name != other.dims[i].name) return Errc::emultidefine_dim_name;
  }
  if (const Errc e = compare(root.attributes, other.attributes); e != Errc::ok) return e;
  if (root.vars.size() != other.vars.size()) return Errc::emultidefine_var_num;
  for (std::size_t i = 0; i < root.vars.size(); ++i) {
    if (const Errc e = compare(root.vars[i], other.vars[i]); e != Errc::ok) return e;
  }
  return Errc::ok;
}

}  // namespace forebay
