#include "hdf5/connector/under_objects.h"

#include <H5VLnative.h>

#include <cstring>
#include <set>

#include "base/attempt.h"
#include "hdf5/connector/errors.h"

namespace forebay::vol {
namespace {

hid_t dxpl() { return H5P_DATASET_XFER_DEFAULT; }

H5VL_loc_params_t index_location(H5I_type_t type, H5_index_t index, hsize_t n) {
  H5VL_loc_params_t location{};
  location.obj_type = type;
  location.type = H5VL_OBJECT_BY_IDX;
  location.loc_data.loc_by_idx = {".", index, H5_ITER_INC, n, H5P_LINK_ACCESS_DEFAULT};
  return location;
}

/// Returns what hdf5_text() wants to know.
std::ptrdiff_t length_or_failed(herr_t result, std::size_t length) {
  return result < 0 ? -1 : static_cast<std::ptrdiff_t>(length);
}

H5VL_dataset_get_args_t ask_dataset(const UnderObject& dataset, H5VL_dataset_get_t question) {
  H5VL_dataset_get_args_t args{};
  args.op_type = question;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for a dataset's type, space or properties");
  return args;
}

hsize_t count_links(const UnderObject& group) {
  H5G_info_t info{};
  H5VL_group_get_args_t args{};
  args.op_type = H5VL_GROUP_GET_INFO;
  args.args.get_info.loc_params = self_location(H5I_GROUP);
  args.args.get_info.ginfo = &info;
  if (H5VLgroup_get(group.object, group.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for a group");
  return info.nlinks;
}

/// The result has no name.
UnderLink link_of(const UnderObject& at, const H5VL_loc_params_t& location) {
  H5L_info2_t info{};
  H5VL_link_get_args_t args{};
  args.op_type = H5VL_LINK_GET_INFO;
  args.args.get_info.linfo = &info;
  if (H5VLlink_get(at.object, &location, at.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for a link");
  return {{}, info.type == H5L_TYPE_HARD, info.cset, info.type == H5L_TYPE_EXTERNAL};
}

/// Returns the property list for a link of that encoding.
Hdf5Id link_list(const UnderLink& link) {
  Hdf5Id list = owned_list(H5Pcreate(H5P_LINK_CREATE));
  checked(H5Pset_char_encoding(list, link.encoding), "choosing a link's encoding");
  return list;
}

/// Returns the identifier that a query of H5VL_attr_get_t gives.
template <typename Take>
hid_t ask_attribute(const OwnedUnder& attribute, H5VL_attr_get_t question, Take&& take) {
  H5VL_attr_get_args_t args{};
  args.op_type = question;
  if (H5VLattr_get(attribute.object(), attribute.connector(), &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for an attribute");
  return take(args);
}

}  // namespace

OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location) {
  H5I_type_t type = H5I_BADID;
  void* const object = H5VLobject_open(at.object, &location, at.connector, &type, dxpl(), nullptr);
  if (object == nullptr) throw_hdf5("opening an object");
  return {object, at.connector, type};
}

OwnedUnder open_quietly(const UnderObject& at, const H5VL_loc_params_t& location) {
  OwnedUnder object;
  const QuietErrors quiet;
  attempt_to([&] { object = open_child(at, location); });
  return object;
}

unsigned copy_flags(hid_t ocpypl) {
  unsigned flags = 0;
  checked(H5Pget_copy_object(ocpypl, &flags), "asking how to copy");
  return flags;
}

H5O_info2_t info_of(const UnderObject& object, unsigned fields) {
  const H5VL_loc_params_t location = self_location(object.type);
  H5O_info2_t info{};
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.oinfo = &info;
  args.args.get_info.fields = fields;
  if (H5VLobject_get(object.object, &location, object.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for an object");
  return info;
}

std::vector<std::byte> token_of(const UnderObject& object) {
  const H5O_info2_t info = info_of(object);
  const auto* bytes = reinterpret_cast<const std::byte*>(&info.token);
  return {bytes, bytes + sizeof info.token};
}

OwnedUnder open_by_token(const UnderObject& at, const std::vector<std::byte>& token) {
  H5O_token_t its{};
  std::memcpy(&its, token.data(), std::min(token.size(), sizeof its));
  H5VL_loc_params_t location{};
  location.obj_type = at.type;
  location.type = H5VL_OBJECT_BY_TOKEN;
  location.loc_data.loc_by_token.token = &its;
  return open_child(at, location);
}

Hdf5Id creation_list(const UnderObject& object) {
  if (object.type != H5I_GROUP)
    return owned_list(ask_dataset(object, H5VL_DATASET_GET_DCPL).args.get_dcpl.dcpl_id);
  H5VL_group_get_args_t args{};
  args.op_type = H5VL_GROUP_GET_GCPL;
  if (H5VLgroup_get(object.object, object.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking for an object's creation properties");
  return owned_list(args.args.get_gcpl.gcpl_id);
}

Hdf5Id access_list(const UnderObject& dataset) {
  return owned_list(ask_dataset(dataset, H5VL_DATASET_GET_DAPL).args.get_dapl.dapl_id);
}

std::string file_name_of(const UnderObject& object) {
  const auto ask = [&](char* to, std::size_t size) {
    std::size_t length = 0;
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_NAME;
    args.args.get_name = {object.type, size, to, &length};
    const herr_t asked = H5VLfile_get(object.object, object.connector, &args, dxpl(), nullptr);
    return length_or_failed(asked, length);
  };
  return hdf5_text(ask, "asking for a file's name");
}

Hdf5Id type_of(const UnderObject& dataset) {
  return owned_type(ask_dataset(dataset, H5VL_DATASET_GET_TYPE).args.get_type.type_id);
}

std::optional<Offset> offset_of(const UnderObject& dataset) {
  haddr_t address = HADDR_UNDEF;
  H5VL_native_dataset_optional_args_t native{};
  native.get_offset.offset = &address;
  H5VL_optional_args_t args{H5VL_NATIVE_DATASET_GET_OFFSET, &native};
  if (H5VLdataset_optional(dataset.object, dataset.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("asking where a dataset lies");
  if (address == HADDR_UNDEF) return std::nullopt;
  return static_cast<Offset>(address);
}

bool keeps_order(const UnderObject& group) {
  unsigned flags = 0;
  const Hdf5Id list = creation_list(group);
  checked(H5Pget_link_creation_order(list, &flags), "asking for a group's order");
  return (flags & H5P_CRT_ORDER_INDEXED) != 0;
}

std::vector<UnderLink> links_of(const UnderObject& group) {
  std::vector<UnderLink> links(count_links(group));
  const H5_index_t index = keeps_order(group) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  for (hsize_t n = 0; n < links.size(); ++n) {
    const H5VL_loc_params_t location = index_location(H5I_GROUP, index, n);
    links[n] = link_of(group, location);
    const auto ask = [&](char* to, std::size_t size) {
      std::size_t length = 0;
      H5VL_link_get_args_t args{};
      args.op_type = H5VL_LINK_GET_NAME;
      args.args.get_name = {size, to, &length};
      const herr_t asked =
          H5VLlink_get(group.object, &location, group.connector, &args, dxpl(), nullptr);
      return length_or_failed(asked, length);
    };
    links[n].name = hdf5_text(ask, "asking for a link's name");
  }
  return links;
}

UnderLink link_at(const UnderObject& at, const std::string& path) {
  UnderLink link = link_of(at, name_location(at.type, path.c_str()));
  link.name = path;
  return link;
}

void remove_link(const UnderObject& group, const char* name) {
  const H5VL_loc_params_t location = name_location(group.type, name);
  H5VL_link_specific_args_t args{};
  args.op_type = H5VL_LINK_DELETE;
  if (H5VLlink_specific(group.object, &location, group.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("removing a link");
}

void rename_link(const UnderObject& group, const UnderLink& link, const std::string& name) {
  const H5VL_loc_params_t from = name_location(group.type, link.name.c_str());
  const H5VL_loc_params_t to = name_location(group.type, name.c_str());
  const Hdf5Id list = link_list(link);
  if (H5VLlink_move(group.object, &from, group.object, &to, group.connector, list,
                    H5P_LINK_ACCESS_DEFAULT, dxpl(), nullptr) < 0)
    throw_hdf5("renaming a link");
}

void link_to(const UnderObject& object, const UnderObject& group, const UnderLink& link) {
  const H5VL_loc_params_t location = name_location(group.type, link.name.c_str());
  H5VL_link_create_args_t args{};
  args.op_type = H5VL_LINK_CREATE_HARD;
  args.args.hard.curr_obj = object.object;
  args.args.hard.curr_loc_params = self_location(object.type);
  const Hdf5Id list = link_list(link);
  if (H5VLlink_create(&args, group.object, &location, group.connector, list,
                      H5P_LINK_ACCESS_DEFAULT, dxpl(), nullptr) < 0)
    throw_hdf5("making a link");
}

void for_each_object(const UnderObject& object,
                     const std::function<void(const UnderObject&)>& use) {
  std::set<std::vector<std::byte>> seen;  // tokens
  const auto visit = [&](const auto& self, const UnderObject& at) -> void {
    if (!seen.insert(token_of(at)).second) return;
    use(at);
    if (at.type != H5I_GROUP) return;
    for (const UnderLink& link : links_of(at)) {
      if (!link.hard) continue;
      const OwnedUnder child = open_child(at, name_location(H5I_GROUP, link.name.c_str()));
      self(self, child.get());
    }
  };
  visit(visit, object);
}

std::vector<std::string> attribute_names(const UnderObject& object) {
  std::vector<std::string> names(info_of(object).num_attrs);
  unsigned flags = 0;
  if (object.type != H5I_DATATYPE && !names.empty()) {
    const Hdf5Id list = creation_list(object);
    checked(H5Pget_attr_creation_order(list, &flags), "asking for the order of attributes");
  }
  const H5_index_t index =
      (flags & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  for (hsize_t n = 0; n < names.size(); ++n) {
    const auto ask = [&](char* to, std::size_t size) {
      std::size_t length = 0;
      H5VL_attr_get_args_t args{};
      args.op_type = H5VL_ATTR_GET_NAME;
      args.args.get_name = {index_location(object.type, index, n), size, to, &length};
      const herr_t asked = H5VLattr_get(object.object, object.connector, &args, dxpl(), nullptr);
      return length_or_failed(asked, length);
    };
    names[n] = hdf5_text(ask, "asking for an attribute's name");
  }
  return names;
}

OwnedUnder open_attribute(const UnderObject& at, const char* name, hid_t dxpl) {
  const H5VL_loc_params_t location = self_location(at.type);
  OwnedUnder attribute(H5VLattr_open(at.object, &location, at.connector, name,
                                     H5P_ATTRIBUTE_ACCESS_DEFAULT, dxpl, nullptr),
                       at.connector, H5I_ATTR);
  if (!attribute) throw_hdf5(std::string("opening the attribute ") + name);
  return attribute;
}

void remove_attribute(const UnderObject& object, const char* name) {
  const H5VL_loc_params_t location = self_location(object.type);
  H5VL_attr_specific_args_t args{};
  args.op_type = H5VL_ATTR_DELETE;
  args.args.del.name = name;
  if (H5VLattr_specific(object.object, &location, object.connector, &args, dxpl(), nullptr) < 0)
    throw_hdf5("removing an attribute");
}

void copy_attribute(const UnderObject& from, const UnderObject& to, const std::string& name) {
  const OwnedUnder source = open_attribute(from, name.c_str(), dxpl());
  const Hdf5Id type = owned_type(ask_attribute(
      source, H5VL_ATTR_GET_TYPE, [](auto& args) { return args.args.get_type.type_id; }));
  const Hdf5Id space = owned_space(ask_attribute(
      source, H5VL_ATTR_GET_SPACE, [](auto& args) { return args.args.get_space.space_id; }));
  const Hdf5Id list = owned_list(ask_attribute(
      source, H5VL_ATTR_GET_ACPL, [](auto& args) { return args.args.get_acpl.acpl_id; }));
  const H5VL_loc_params_t location = self_location(to.type);
  const OwnedUnder copy(H5VLattr_create(to.object, &location, to.connector, name.c_str(), type,
                                        space, list, H5P_ATTRIBUTE_ACCESS_DEFAULT, dxpl(), nullptr),
                        to.connector, H5I_ATTR);
  if (!copy) throw_hdf5("making an attribute");
  const auto elements = checked(H5Sget_simple_extent_npoints(space), "sizing an attribute");
  if (elements == 0) return;
  std::vector<std::byte> values(static_cast<std::size_t>(elements) * H5Tget_size(type));
  if (H5VLattr_read(source.object(), source.connector(), type, values.data(), dxpl(), nullptr) < 0)
    throw_hdf5("reading an attribute");
  const herr_t written =
      H5VLattr_write(copy.object(), copy.connector(), type, values.data(), dxpl(), nullptr);
  H5Treclaim(type, space, H5P_DEFAULT, values.data());  // frees variable-length values
  if (written < 0) throw_hdf5("writing an attribute");
}

}  // namespace forebay::vol
