#include "hdf5/files/handle.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/text_table.h"
#include "hdf5/files/hdf5_check.h"
#include "hdf5/files/zstd_filter.h"
#include "hdf5/log/undo_file.h"
#include "hdf5/shared/driver_table.h"

namespace forebay {
namespace {

ElementType refused(std::string why) {
  ElementType element;
  element.refused = std::move(why);
  return element;
}

ElementType accepted(Type type) { return {type, native_type(type), {}}; }

Type integer_type(std::size_t size, bool is_signed) {
  if (size <= 1) return is_signed ? Type::byte : Type::uint8;
  if (size <= 2) return is_signed ? Type::int16 : Type::uint16;
  if (size <= 4) return is_signed ? Type::int32 : Type::uint32;
  return is_signed ? Type::int64 : Type::uint64;
}

ElementType text_type(hid_t file_type) {
  if (H5Tis_variable_str(file_type) > 0) return refused("strings of varying length");
  if (H5Tget_size(file_type) != 1) return refused("strings");
  ElementType element;
  element.type = Type::chr;
  // The memory type is the file's own. Another type of one byte would turn the character into the
  // NUL that ends a string.
  element.memory = owned(H5Tcopy(file_type), "a type");
  return element;
}

}  // namespace

void start_hdf5() {
  static const bool once = [] {
    // A connector is for programs that do not know how it stores data, but a tool reads files as
    // they are. HDF5 looks at the variable only while it starts. The variable is set again, as the
    // process may use another HDF5 with the connector.
    const char* named = std::getenv("HDF5_VOL_CONNECTOR");
    const std::optional<std::string> connector =
        named == nullptr ? std::nullopt : std::optional<std::string>(named);
    if (connector) ::unsetenv("HDF5_VOL_CONNECTOR");
    // Owners close their files. If that fails, on a full device, HDF5's exit handler would fail on
    // what is left.
    H5dont_atexit();
    H5open();
    register_zstd_filter();
    if (connector) ::setenv("HDF5_VOL_CONNECTOR", connector->c_str(), 1);
    return true;
  }();
  (void)once;
  // A thread-safe HDF5 has an error stack for each thread, and prints unless told not to.
  thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)quiet;
}

// Throws "what: HDF5's innermost message", with Errc::enomem or eaccess if they fit.
void throw_hdf5(std::string_view failed) {
  const std::string what(failed);
  // It has the system's message: "unable to open file: name = 'x', errno = 13, ..."
  const std::string message = innermost_error();
  H5Eclear2(H5E_DEFAULT);
  constexpr std::string_view mark = "errno = ";
  if (const std::size_t at = message.find(mark); at != std::string::npos) {
    const int reason = std::atoi(message.c_str() + at + mark.size());
    if (message.find("unable to lock") != std::string::npos) {
      throw Error(Errc::efile, what + ": it is locked",
                  "close it where it is open for writing; on a file system without locks, set "
                  "HDF5_USE_FILE_LOCKING=FALSE");
    }
    throw Error(code_from_errno(reason, Errc::ehdferr), what + ": " + std::strerror(reason));
  }
  const bool memory = message.find("memory allocation failed") != std::string::npos;
  throw Error(memory ? Errc::enomem : Errc::ehdferr,
              message.empty() ? what : what + ": " + printable(message));
}

Hdf5Id open_hdf5_file(const std::string& path) {
  try_hdf5_structure(path);
  start_hdf5();
  put_back(path, false);  // repairs a log file whose job was killed during a flush
  const Hdf5Id access = owned(H5Pcreate(H5P_FILE_ACCESS), "file access");
  Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access));
  if (!file.valid()) throw_hdf5(printable(path) + ": HDF5 cannot open it");
  return file;
}

std::string path_of(hid_t file) {
  return hdf5_text([&](char* to, std::size_t size) { return H5Fget_name(file, to, size); },
                   "the name of a file");
}

ElementType element_type(hid_t file_type) {
  const std::size_t size = H5Tget_size(file_type);
  switch (H5Tget_class(file_type)) {
    case H5T_INTEGER:
      if (size > 8) return refused("integers of more than 8 bytes");
      return accepted(integer_type(size, H5Tget_sign(file_type) != H5T_SGN_NONE));
    case H5T_FLOAT:
      if (size > 8) return refused("floating-point numbers of more than 8 bytes");
      return accepted(size <= 4 ? Type::float32 : Type::float64);
    case H5T_STRING:
      return text_type(file_type);
    case H5T_ENUM: {
      const Hdf5Id base = owned(H5Tget_super(file_type), "an enumeration");
      return element_type(base);
    }
    case H5T_COMPOUND:
      return refused("a compound type");
    case H5T_VLEN:
      return refused("lists of varying length");
    case H5T_REFERENCE:
      return refused("references");
    case H5T_OPAQUE:
      return refused("an opaque type");
    case H5T_ARRAY:
      return refused("an array type");
    default:
      return refused("a type that it does not know");
  }
}

std::optional<Count> string_width(hid_t file_type) {
  constexpr std::size_t most = 1 << 20;
  if (H5Tget_class(file_type) != H5T_STRING) return std::nullopt;
  if (H5Tis_variable_str(file_type) > 0) return 0;
  const std::size_t size = H5Tget_size(file_type);
  return size > 0 && size <= most ? std::optional(static_cast<Count>(size)) : std::nullopt;
}

Hdf5Id string_memory_type(hid_t file_type) {
  Hdf5Id type = owned(H5Tcopy(file_type), "a type");
  if (H5Tis_variable_str(file_type) <= 0) checked(H5Tset_strpad(type, H5T_STR_NULLPAD), "a type");
  return type;
}

Hdf5Id native_type(Type type) {
  const hid_t of[] = {H5I_INVALID_HID,   H5T_NATIVE_SCHAR,  H5T_C_S1,          H5T_NATIVE_INT16,
                      H5T_NATIVE_INT32,  H5T_NATIVE_FLOAT,  H5T_NATIVE_DOUBLE, H5T_NATIVE_UCHAR,
                      H5T_NATIVE_UINT16, H5T_NATIVE_UINT32, H5T_NATIVE_INT64,  H5T_NATIVE_UINT64};
  return owned(H5Tcopy(of[static_cast<std::size_t>(type)]), "a type");
}

std::vector<Hdf5Link> links_of(hid_t group) {
  std::vector<Hdf5Link> links;
  unsigned order = 0;
  const Hdf5Id creation(H5Gget_create_plist(group));
  if (creation.valid()) H5Pget_link_creation_order(creation, &order);
  const auto note = [](hid_t, const char* name, const H5L_info_t* info, void* list) -> herr_t {
    static_cast<std::vector<Hdf5Link>*>(list)->push_back({name, info->type});
    return 0;
  };
  const H5_index_t by = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  checked(H5Literate(group, by, H5_ITER_INC, nullptr, note, &links), "the links of a group");
  return links;
}

std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  const auto note = [](hid_t, const char* name, const H5A_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  // If the order of creation was not tracked, HDF5 returns them in the order of the header.
  if (H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, note, &names) < 0) {
    names.clear();
    H5Eclear2(H5E_DEFAULT);
    checked(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &names),
            "the attributes of an object");
  }
  return names;
}

std::string joined_path(const std::string& group, const std::string& name) {
  return group == "/" ? "/" + name : group + "/" + name;
}

Hdf5Object object_of(hid_t id) {
  Hdf5Object object;
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  checked(H5Oget_info3(id, &info, H5O_INFO_BASIC), "an object");
  object.address.token.assign(reinterpret_cast<const char*>(&info.token), sizeof info.token);
#else
  H5O_info_t info;
  checked(H5Oget_info2(id, &info, H5O_INFO_BASIC), "an object");
  object.address.token.assign(reinterpret_cast<const char*>(&info.addr), sizeof info.addr);
#endif
  object.kind = info.type;
  object.address.file = info.fileno;
  object.links = info.rc;
  return object;
}

}  // namespace forebay
