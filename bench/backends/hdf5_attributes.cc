#include "backends/hdf5_attributes.h"

#include <algorithm>

namespace forebay::bench {
namespace {

void put_text(hid_t object, const std::string& name, const std::string& text) {
  const Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose, name);
  hdf5_check(H5Tset_size(type, std::max<std::size_t>(1, text.size())), name);
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose, name);
  const Hdf5Id attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, name);
  hdf5_check(H5Awrite(attribute, type, text.c_str()), name);
}

template <typename T>
void put_numbers(hid_t object, const cdl::Attribute& source, hid_t memory,
                 const std::vector<T>& values) {
  const hsize_t length = values.size();
  const Hdf5Id space(H5Screate_simple(1, &length, nullptr), H5Sclose, source.name);
  const Hdf5Id attribute(H5Acreate2(object, source.name.c_str(), hdf5_type(source.type), space,
                                    H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, source.name);
  hdf5_check(H5Awrite(attribute, memory, values.data()), source.name);
}

}  // namespace

hid_t hdf5_type(cdl::Type type) {
  switch (type) {
    case cdl::Type::Byte:
      return H5T_NATIVE_SCHAR;
    case cdl::Type::Char:
      return H5T_C_S1;
    case cdl::Type::Short:
      return H5T_NATIVE_SHORT;
    case cdl::Type::Int:
      return H5T_NATIVE_INT;
    case cdl::Type::Float:
      return H5T_NATIVE_FLOAT;
    case cdl::Type::Double:
      return H5T_NATIVE_DOUBLE;
    case cdl::Type::UByte:
      return H5T_NATIVE_UCHAR;
    case cdl::Type::UShort:
      return H5T_NATIVE_USHORT;
    case cdl::Type::UInt:
      return H5T_NATIVE_UINT;
    case cdl::Type::Int64:
      return H5T_NATIVE_LLONG;
    default:
      return H5T_NATIVE_ULLONG;
  }
}

void hdf5_put_attributes(hid_t object, const std::vector<cdl::Attribute>& attributes) {
  for (const cdl::Attribute& attribute : attributes) {
    if (const auto* text = std::get_if<std::string>(&attribute.values)) {
      put_text(object, attribute.name, *text);
    } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute.values)) {
      put_numbers(object, attribute, H5T_NATIVE_DOUBLE, *reals);
    } else {
      put_numbers(object, attribute, H5T_NATIVE_LLONG,
                  std::get<std::vector<std::int64_t>>(attribute.values));
    }
  }
}

}  // namespace forebay::bench
