// Queries of objects of the connector below, and changes of their links and attributes.
//
// All functions throw Errc::ehdferr, which says what failed; HDF5's error stack says why.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "hdf5/connector/under.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {

OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location);
/// Returns an empty result if there is no object. It leaves no errors on HDF5's stack.
OwnedUnder open_quietly(const UnderObject& at, const H5VL_loc_params_t& location);
/// Returns the flags of an H5Ocopy.
unsigned copy_flags(hid_t ocpypl);
H5O_info2_t info_of(const UnderObject& object,
                    unsigned fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS);
/// Returns a token that no other object of the file has.
std::vector<std::byte> token_of(const UnderObject& object);
OwnedUnder open_by_token(const UnderObject& at, const std::vector<std::byte>& token);
/// Takes a group or a dataset.
Hdf5Id creation_list(const UnderObject& object);
/// Returns the name of the file that contains an object.
std::string file_name_of(const UnderObject& object);
/// Takes a dataset.
Hdf5Id access_list(const UnderObject& dataset);
Hdf5Id type_of(const UnderObject& dataset);
/// Returns the place in the file where the values of a native dataset begin; nullopt if it has no
/// storage, or if the values are not in one place.
std::optional<Offset> offset_of(const UnderObject& dataset);

/// A link of a group.
struct UnderLink {
  std::string name;  ///< or path
  bool hard = false;
  H5T_cset_t encoding = H5T_CSET_ASCII;
  bool external = false;
};
/// Returns whether a group keeps the creation order of its links.
bool keeps_order(const UnderObject& group);
/// Returns links in creation order if the group keeps it, otherwise by name.
std::vector<UnderLink> links_of(const UnderObject& group);
UnderLink link_at(const UnderObject& at, const std::string& path);
void remove_link(const UnderObject& group, const char* name);
void rename_link(const UnderObject& group, const UnderLink& link, const std::string& name);
/// Makes a hard link to `object` with the name and encoding of `link`.
void link_to(const UnderObject& object, const UnderObject& group, const UnderLink& link);

/// Calls `use` once for an object and for every object below it, however it is linked.
void for_each_object(const UnderObject& object, const std::function<void(const UnderObject&)>& use);

/// Returns names in creation order if the object keeps it, otherwise sorted by name.
std::vector<std::string> attribute_names(const UnderObject& object);
OwnedUnder open_attribute(const UnderObject& at, const char* name, hid_t dxpl);
void remove_attribute(const UnderObject& object, const char* name);
/// Both objects must be in one file.
void copy_attribute(const UnderObject& from, const UnderObject& to, const std::string& name);

}  // namespace forebay::vol
