// The application's view of a log file: which names it may use, and what its indexes mean below.
//
// Every callback passes its location through a VisibleLocation, and its names through the checks
// below. In other files all this is one test of a pointer.
#pragma once

#include <hdf5.h>

#include "hdf5/connector/object.h"

namespace forebay::vol {

/// Returns whether a component of this path begins with the reserved prefix. nullptr: no.
bool names_hidden(const char* path) noexcept;

/// Checks names for creation and renaming, and targets of soft links. Throws Errc::ebadname if the
/// file is a log file and `path` has a reserved name in it.
void refuse_reserved(const Object& at, const char* path);

/// Checks names of existing objects. Throws Errc::enotfound if the file is a log file and `path`
/// names something hidden.
void refuse_hidden(const Object& at, const char* path);

/// Says what a location by index counts.
enum class IndexOf { links, attributes };

/// Converts the application's location into one for the connector below, because the n-th visible
/// entry is another raw one. Throws Errc::enotfound if the path has a hidden name.
class VisibleLocation {
 public:
  VisibleLocation(const Object& at, const H5VL_loc_params_t& asked, hid_t dxpl,
                  IndexOf counted = IndexOf::links)
      : used_(&asked) {
    if (at.log()) resolve(at, dxpl, counted);
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

/// Checks the location of something new (H5Lcreate, the destination of a move).
inline void refuse_reserved_location(const Object& at, const H5VL_loc_params_t& location) {
  if (location.type == H5VL_OBJECT_BY_NAME) refuse_reserved(at, location.loc_data.loc_by_name.name);
}

/// Returns whether the location names something hidden in a log file. Queries about it answer no.
inline bool is_hidden(const Object& at, const H5VL_loc_params_t& location) noexcept {
  return at.log() && location.type == H5VL_OBJECT_BY_NAME &&
         names_hidden(location.loc_data.loc_by_name.name);
}

/// Returns the number of hidden attributes of the object at `location`, a location for below.
hsize_t count_hidden_attributes(const Object& at, const H5VL_loc_params_t& location, hid_t dxpl);

/// Removes hidden entries from the creation-order number of a link or an attribute. `asked` is the
/// application's location.
void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5L_info2_t& info,
                    hid_t dxpl);
void hide_in_number(const Object& at, const H5VL_loc_params_t& asked, H5A_info_t& info, hid_t dxpl);

// Iterations of log files. The connector below visits everything, the application's function sees
// only what is visible, and positions count visible entries. The results are those of the function,
// as the connector below returns them. All are synchronous.

herr_t iterate_links(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_link_iterate_args_t& args, hid_t dxpl);
herr_t iterate_attributes(const Object& at, const H5VL_loc_params_t& location,
                          H5VL_attr_iterate_args_t& args, hid_t dxpl);
herr_t visit_objects(const Object& at, const H5VL_loc_params_t& location,
                     H5VL_object_visit_args_t& args, hid_t dxpl);

/// H5Giterate and H5Aiterate1, which only the native connector has. They return nothing if `args`
/// asks for something else.
std::optional<herr_t> iterate_groups_old(const Object& at, H5VL_optional_args_t& args, hid_t dxpl);
std::optional<herr_t> iterate_attributes_old(const Object& at, H5VL_optional_args_t& args,
                                             hid_t dxpl);

}  // namespace forebay::vol
