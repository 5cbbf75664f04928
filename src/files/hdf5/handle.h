// What the files that use HDF5 have in common: errors with HDF5's own words, element types.
// Included only where HDF5 is in the build.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <vector>

#include "array/type.h"
#include "base/types.h"
#include "hdf5/id.h"

namespace forebay {

/// Call in every thread before any other function of HDF5: nothing is printed on errors, and no
/// connector that the environment names stands between a tool and the file.
void start_hdf5();

/// Opens a file for reading. Errors begin with the path.
Hdf5Id open_hdf5_file(const std::string& path);

/// How elements of an HDF5 type are read in the terms of the classic formats.
struct ElementType {
  Type type = Type::none;
  Hdf5Id memory;        ///< the type in memory that H5Dread is given
  std::string refused;  ///< "strings of varying length": why there is none; empty if there is
};

/// Integers and floats of any width up to 8 bytes, enumerations as their integers, text of one
/// character an element; the rest is refused.
ElementType element_type(hid_t file_type);

/// Bytes of a string type's element; 0 for strings of varying length; nothing for other types and
/// for strings of more than 1 MiB each.
std::optional<Count> string_width(hid_t file_type);
/// The type in memory for such strings: of fixed length padded with NULs, or `char*`.
Hdf5Id string_memory_type(hid_t file_type);

/// The type in a file for elements of a classic type: little-endian; text of one character.
Hdf5Id stored_type(Type type);
/// The type in memory for the same.
Hdf5Id native_type(Type type);

/// Extents of a dataspace: empty for a scalar, and for none at all (`null` is set then).
struct Extents {
  std::vector<Count> now, most;  ///< most: -1 marks unlimited
  bool null = false;
};
Extents extents_of(hid_t space);

/// A dataspace for `n` dimensions; scalar where there are none.
Hdf5Id simple_space(const std::vector<Count>& extents);

/// Selects a hyperslab; `stride` may be empty.
void select(hid_t space, const std::vector<Count>& start, const std::vector<Count>& count,
            const std::vector<Count>& stride = {});

/// A link of a group, or an attribute: they come in the order in which they were made where the
/// file knows it, else by name.
struct Hdf5Link {
  std::string name;
  H5L_type_t kind = H5L_TYPE_HARD;
};
std::vector<Hdf5Link> links_of(hid_t group);
std::vector<std::string> attribute_names(hid_t object);

/// "/a", "b" → "/a/b"; "/", "b" → "/b"
std::string joined_path(const std::string& group, const std::string& name);

/// An identity of an object in its file.
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
  unsigned links = 1;  ///< hard links that name it
};
Hdf5Object object_of(hid_t id);

}  // namespace forebay
