// Shared by the files that use HDF5: errors with HDF5's own messages, and element types. Included
// only if HDF5 is in the build.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "array/type.h"
#include "base/types.h"
#include "hdf5/shared/id.h"
#include "hdf5/shared/properties.h"

namespace forebay {

/// Call it in every thread before any other function of HDF5. HDF5 then prints no errors, and no
/// connector in the environment stands between a tool and the file.
void start_hdf5();

/// Opens a file for reading, after a companion has tried it (hdf5/files/hdf5_check.h). Errors begin
/// with the path.
Hdf5Id open_hdf5_file(const std::string& path);

/// Returns the path of an open file.
std::string path_of(hid_t file);

/// How elements of an HDF5 type are read as a type of the classic formats.
struct ElementType {
  Type type = Type::none;
  Hdf5Id memory;        ///< the memory type for H5Dread
  std::string refused;  ///< why there is no such type: "strings of varying length"; else empty
};

/// Accepts integers and floats of up to 8 bytes, enumerations as their integers, and text of one
/// character per element. Refuses all other types.
ElementType element_type(hid_t file_type);

/// Returns the bytes of a string element; 0 for strings of varying length; nothing for other types
/// and for strings of more than 1 MiB.
std::optional<Count> string_width(hid_t file_type);
/// Returns the memory type for such strings: fixed length padded with NULs, or `char*`.
Hdf5Id string_memory_type(hid_t file_type);

/// Returns the memory type for elements of a classic type.
Hdf5Id native_type(Type type);

/// A link of a group. Links and attributes come in the order of creation if the file tracks it,
/// else by name.
struct Hdf5Link {
  std::string name;
  H5L_type_t kind = H5L_TYPE_HARD;
};
std::vector<Hdf5Link> links_of(hid_t group);
std::vector<std::string> attribute_names(hid_t object);

/// "/a", "b" → "/a/b"; "/", "b" → "/b"
std::string joined_path(const std::string& group, const std::string& name);

/// Identifies an object in its file.
struct Hdf5Address {
  unsigned long file = 0;
  std::string token;
  bool operator==(const Hdf5Address&) const = default;
  bool operator<(const Hdf5Address& other) const {
    return file != other.file ? file < other.file : token < other.token;
  }
};
struct Hdf5Object {
  H5O_type_t kind = H5O_TYPE_UNKNOWN;
  Hdf5Address address;
  unsigned links = 1;  ///< hard links to it
};
Hdf5Object object_of(hid_t id);

}  // namespace forebay
