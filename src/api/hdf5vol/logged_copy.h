// What H5Ocopy of logged datasets has in common, into a log file and into an ordinary one.
#pragma once

#include <optional>
#include <set>

#include "api/hdf5vol/logged_file.h"
#include "api/hdf5vol/under_objects.h"

namespace forebay::vol {

/// The boxes that a dataset is copied in, one after another, each of at most 8 MiB or one element.
class CopyBoxes {
 public:
  /// `extents` ≥ 1. Where the first dimension is cut, then at multiples of `chunk`, as long as
  /// boxes stay below 64 MiB.
  CopyBoxes(std::span<const Count> extents, std::size_t element_size, Count chunk = 1);
  Count count() const { return count_; }
  std::vector<Steps> box(Count n) const;

 private:
  std::vector<Count> extents_;
  std::size_t cut_ = 0;  // the dimension that is cut; those before it are taken one by one
  Count rows_ = 1;       // of it, at once
  Count count_ = 1;
};

/// Whether anything of a dataset was written, in the file or still in memory.
bool has_data(LoggedFile& file, const DatasetState& dataset);

/// Where H5Ocopy put its copy: the group, open, and the name in it.
struct CopyPlace {
  OwnedUnder parent;  ///< empty: `at` is the location that the program gave
  UnderObject at;
  H5VL_loc_params_t location;  ///< of the copy, from `at` on
};
CopyPlace place_of(const ObjectCopy& copy);

/// What H5O_COPY_WITHOUT_ATTR_FLAG asks for, but for what is Forebay's.
void remove_visible_attributes(const UnderObject& object);

/// The copy of `copy` in an ordinary file: stand-ins give way to datasets with their values.
/// Collective where that file was opened with MPI-IO. Takes the copy away where it fails.
void copy_out(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes);

}  // namespace forebay::vol
