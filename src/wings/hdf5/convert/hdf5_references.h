// Elements in memory that contain references or lists. To copy them to another file, more than
// their bytes must be copied.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hdf5/files/handle.h"

namespace forebay::tools {

/// Rewrites references read from one file so that they name the same objects in another file.
class ReferenceTranslator {
 public:
  /// Returns the path in the other file of an object of the first; nothing if it was not copied.
  /// Such references become null.
  using PathOf = std::function<std::optional<std::string>(const Hdf5Address&)>;
  /// Returns the dataspace of an open dataset of the first file, as users see it.
  using SpaceOf = std::function<Hdf5Id(hid_t)>;
  ReferenceTranslator(hid_t from, hid_t to, PathOf path_of, SpaceOf space_of)
      : from_(from), to_(to), path_of_(std::move(path_of)), space_of_(std::move(space_of)) {}

  /// Translates `n` elements of `type`, the memory type. Errc::enotsupport for a kind of reference
  /// that cannot be translated.
  void translate(hid_t type, void* elements, std::size_t n) const;

 private:
  void element(hid_t type, char* at) const;
  void reference(hid_t type, char* at) const;

  hid_t from_, to_;
  PathOf path_of_;
  SpaceOf space_of_;
};

}  // namespace forebay::tools
