// Elements in memory that hold references or lists: copying them to another file is more than
// copying bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "files/hdf5/handle.h"

namespace forebay::tools {

/// Whether elements of a type in memory own memory outside of themselves.
bool has_varying_parts(hid_t type);
/// Whether they hold references to objects or regions.
bool has_references(hid_t type);

/// Rewrites references that were read from one file so that they name the same objects in another.
class ReferenceTranslator {
 public:
  /// `path_of` tells where in the other file an object of the first stands; nothing where it was
  /// not copied: such references become null.
  using PathOf = std::function<std::optional<std::string>(const Hdf5Address&)>;
  /// `space_of` gives the dataspace that an open dataset of the first file shows.
  using SpaceOf = std::function<Hdf5Id(hid_t)>;
  ReferenceTranslator(hid_t from, hid_t to, PathOf path_of, SpaceOf space_of)
      : from_(from), to_(to), path_of_(std::move(path_of)), space_of_(std::move(space_of)) {}

  /// `n` elements of `type`, the type in memory. Errc::enotsupport for a kind of reference that
  /// cannot be translated.
  void translate(hid_t type, void* elements, std::size_t n) const;

 private:
  void element(hid_t type, char* at) const;
  void reference(hid_t type, char* at) const;

  hid_t from_, to_;
  PathOf path_of_;
  SpaceOf space_of_;
};

}  // namespace forebay::tools
