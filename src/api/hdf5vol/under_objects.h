// Questions to objects of the connector below, and changes of their links and attributes.
//
// All throw Errc::ehdferr, saying what failed; HDF5's error stack says why.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/hdf5vol/under.h"
#include "hdf5/id.h"

namespace forebay::vol {

OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location);
H5O_info2_t info_of(const UnderObject& object,
                    unsigned fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS);
/// What tells an object from every other of its file.
std::vector<std::byte> token_of(const UnderObject& object);
/// Of a group or a dataset.
Hdf5Id creation_list(const UnderObject& object);
/// The name of the file that an object lies in.
std::string file_name_of(const UnderObject& object);
/// Of a dataset.
Hdf5Id access_list(const UnderObject& dataset);
Hdf5Id type_of(const UnderObject& dataset);
Hdf5Id space_of(const UnderObject& dataset);

/// A link of a group.
struct UnderLink {
  std::string name;  ///< or path
  bool hard = false;
  H5T_cset_t encoding = H5T_CSET_ASCII;
  bool external = false;
};
/// Whether a group keeps the order in which its links were made.
bool keeps_order(const UnderObject& group);
/// In the order in which they were made where the group keeps that; else by name.
std::vector<UnderLink> links_of(const UnderObject& group);
UnderLink link_at(const UnderObject& at, const std::string& path);
void remove_link(const UnderObject& group, const char* name);
void rename_link(const UnderObject& group, const UnderLink& link, const std::string& name);
/// A hard link of that name and encoding to `object`.
void link_to(const UnderObject& object, const UnderObject& group, const UnderLink& link);

/// Tokens of objects that a walk has seen.
using SeenObjects = std::set<std::vector<std::byte>>;
/// Calls `use` for an object and every one below it, once each, however it is linked.
void for_each_object(const UnderObject& object, SeenObjects& seen,
                     const std::function<void(const UnderObject&)>& use);

/// In the order in which they were made where the object keeps that; else by name.
std::vector<std::string> attribute_names(const UnderObject& object);
void remove_attribute(const UnderObject& object, const char* name);
/// Both objects are of one file.
void copy_attribute(const UnderObject& from, const UnderObject& to, const std::string& name);

}  // namespace forebay::vol
