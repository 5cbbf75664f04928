#include "netcdf4/plugin/handles.h"

#include <algorithm>

namespace forebay::netcdf4 {

Id::Id(hid_t id, const std::string& what) : id_(checked(id, what)) {}

void throw_hdf5(const std::string& what) {
  std::string why;
  const auto innermost = [](unsigned n, const H5E_error2_t* error, void* kept) -> herr_t {
    if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(kept) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &why);
  H5Eclear2(H5E_DEFAULT);
  throw Error(Errc::ehdferr, what + ": HDF5 says \"" + why + "\"");
}

hid_t number_type(Type type, bool little_endian) {
  switch (type) {
    case Type::byte:
      return little_endian ? H5T_STD_I8LE : H5T_STD_I8BE;
    case Type::uint8:
      return little_endian ? H5T_STD_U8LE : H5T_STD_U8BE;
    case Type::int16:
      return little_endian ? H5T_STD_I16LE : H5T_STD_I16BE;
    case Type::uint16:
      return little_endian ? H5T_STD_U16LE : H5T_STD_U16BE;
    case Type::int32:
      return little_endian ? H5T_STD_I32LE : H5T_STD_I32BE;
    case Type::uint32:
      return little_endian ? H5T_STD_U32LE : H5T_STD_U32BE;
    case Type::int64:
      return little_endian ? H5T_STD_I64LE : H5T_STD_I64BE;
    case Type::uint64:
      return little_endian ? H5T_STD_U64LE : H5T_STD_U64BE;
    case Type::float32:
      return little_endian ? H5T_IEEE_F32LE : H5T_IEEE_F32BE;
    case Type::float64:
      return little_endian ? H5T_IEEE_F64LE : H5T_IEEE_F64BE;
    case Type::chr:
    case Type::none:
      break;
  }
  return H5I_INVALID_HID;
}

Id text_type(std::size_t bytes) {
  Id type(H5Tcopy(H5T_C_S1), "making a type for text");
  checked(H5Tset_size(type, std::max<std::size_t>(bytes, 1)), "making a type for text");
  checked(H5Tset_strpad(type, H5T_STR_NULLTERM), "making a type for text");
  return type;
}

}  // namespace forebay::netcdf4
