// The application's view of a log file: what it may name, and what its indexes mean below.
//
// Every callback puts the location that it was given through a VisibleLocation, and names of its
// own through the checks below. In a file without hooks all of it is one test of a pointer.
#pragma once

#include <hdf5.h>

#include "api/hdf5vol/object.h"

namespace forebay::vol {

/// Whether a component of this path begins with the reserved prefix. nullptr: no.
bool names_hidden(const char* path) noexcept;

/// For creating, renaming, and the target of a soft link. Throws Errc::ebadname when the file is a
/// log file and `path` has a reserved name in it.
void refuse_reserved(const Object& at, const char* path);

/// For what must be there. Throws Errc::enotfound when the file is a log file and `path` names
/// something hidden.
void refuse_hidden(const Object& at, const char* path);

/// What the n of a location by index counts.
enum class IndexOf { links, attributes };

/// A location as the application gave it, turned into one for the connector below: the n-th visible
/// entry is another raw one. Throws Errc::enotfound for a path with a hidden name.
class VisibleLocation {
 public:
  VisibleLocation(const Object& at, const H5VL_loc_params_t& asked, hid_t dxpl,
                  IndexOf counted = IndexOf::links)
      : used_(&asked) {
    if (at.hooks()) resolve(at, dxpl, counted);
  }
  VisibleLocation(const VisibleLocation&) = delete;
  VisibleLocation& operator=(const VisibleLocation&) = delete;
  operator const H5VL_loc_params_t*() const noexcept { return used_; }
  const H5VL_loc_params_t& operator*() const noexcept { return *used_; }

 private:
  void resolve(const Object& at, hid_t dxpl, IndexOf counted);

  const H5VL_loc_params_t* used_;
  H5VL_loc_params_t changed_;
};

/// Whether a location for something new (H5Lcreate, the destination of a move) is all right.
inline void refuse_reserved_location(const Object& at, const H5VL_loc_params_t& location) {
  if (location.type == H5VL_OBJECT_BY_NAME) refuse_reserved(at, location.loc_data.loc_by_name.name);
}

/// True when the location names something hidden in a log file: for questions, whose answer is no.
inline bool is_hidden(const Object& at, const H5VL_loc_params_t& location) noexcept {
  return at.hooks() && location.type == H5VL_OBJECT_BY_NAME &&
         names_hidden(location.loc_data.loc_by_name.name);
}

/// The number of hidden attributes of the object at `location`, which is one for below.
hsize_t count_hidden_attributes(const Object& at, const H5VL_loc_params_t& location, hid_t dxpl);

/// Takes hidden entries out of the number of creation order of a link, or an attribute, that was
/// asked for by `asked`: what the application gave.
void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5L_info2_t& info,
                    hid_t dxpl);
void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5A_info_t& info, hid_t dxpl);

// Iterations of log files: the connector below goes through everything, the application's function
// sees what is visible, and positions that go in and out are visible ones. Results are those of the
// function, as the connector below returns them. All synchronous.

herr_t iterate_links(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_link_iterate_args_t& args, hid_t dxpl);
herr_t iterate_attributes(const Object& at, const H5VL_loc_params_t& location,
                          H5VL_attr_iterate_args_t& args, hid_t dxpl);
herr_t visit_objects(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_object_visit_args_t& args, hid_t dxpl);

/// H5Giterate and H5Aiterate1, which only the native connector has. True: done, with `result`.
bool iterate_groups_old(const Object& at, H5VL_optional_args_t& args, hid_t dxpl, herr_t& result);
bool iterate_attributes_old(const Object& at, H5VL_optional_args_t& args, hid_t dxpl,
                            herr_t& result);

/// After an H5Ocopy of a root group: takes what was hidden in it out of the copy.
void remove_hidden(const Object& copy_at, const H5VL_loc_params_t& copy, hid_t dxpl);

}  // namespace forebay::vol
