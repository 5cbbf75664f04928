#include "api/hdf5vol/under_walk.h"

#include "base/error.h"

namespace forebay::vol {
namespace {

hsize_t count_links(const UnderObject& group) {
  H5G_info_t info{};
  H5VL_group_get_args_t args{};
  args.op_type = H5VL_GROUP_GET_INFO;
  args.args.get_info.loc_params = self_location(H5I_GROUP);
  args.args.get_info.ginfo = &info;
  if (H5VLgroup_get(group.object, group.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a group failed");
  return info.nlinks;
}

bool is_hard(const UnderObject& group, const H5VL_loc_params_t& location) {
  H5L_info2_t info{};
  H5VL_link_get_args_t args{};
  args.op_type = H5VL_LINK_GET_INFO;
  args.args.get_info.linfo = &info;
  if (H5VLlink_get(group.object, &location, group.connector, &args, H5P_DATASET_XFER_DEFAULT,
                   nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a link failed");
  return info.type == H5L_TYPE_HARD;
}

std::vector<std::byte> token_of(const UnderObject& object) {
  const H5O_info2_t info = info_of(object);
  const auto* bytes = reinterpret_cast<const std::byte*>(&info.token);
  return {bytes, bytes + sizeof info.token};
}

}  // namespace

H5VL_loc_params_t index_location(hsize_t n) {
  H5VL_loc_params_t location{};
  location.obj_type = H5I_GROUP;
  location.type = H5VL_OBJECT_BY_IDX;
  location.loc_data.loc_by_idx = {".", H5_INDEX_NAME, H5_ITER_INC, n, H5P_LINK_ACCESS_DEFAULT};
  return location;
}

OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location) {
  H5I_type_t type = H5I_BADID;
  void* const object =
      H5VLobject_open(at.object, &location, at.connector, &type, H5P_DATASET_XFER_DEFAULT, nullptr);
  if (object == nullptr) throw Error(Errc::ehdferr, "HDF5: opening an object failed");
  return {object, at.connector, type};
}

H5O_info2_t info_of(const UnderObject& object) {
  const H5VL_loc_params_t location = self_location(object.type);
  H5O_info2_t info{};
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.oinfo = &info;
  args.args.get_info.fields = H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS;
  if (H5VLobject_get(object.object, &location, object.connector, &args, H5P_DATASET_XFER_DEFAULT,
                     nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for an object failed");
  return info;
}

Hid type_of(const UnderObject& dataset) {
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_TYPE;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    throw Error(Errc::ehdferr, "HDF5: asking for a dataset's datatype failed");
  return owned_type(args.args.get_type.type_id);
}

Hid space_of(const UnderObject& dataset) {
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_SPACE;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    throw Error(Errc::ehdferr, "HDF5: asking for a dataset's dataspace failed");
  return owned_space(args.args.get_space.space_id);
}

void remove_attribute(const UnderObject& object, const char* name) {
  const H5VL_loc_params_t location = self_location(object.type);
  H5VL_attr_specific_args_t args{};
  args.op_type = H5VL_ATTR_DELETE;
  args.args.del.name = name;
  if (H5VLattr_specific(object.object, &location, object.connector, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) < 0)
    throw Error(Errc::ehdferr, std::string("HDF5: removing the attribute ") + name + " failed");
}

void for_each_object(const UnderObject& object, SeenObjects& seen,
                     const std::function<void(const UnderObject&)>& use) {
  if (!seen.insert(token_of(object)).second) return;
  use(object);
  if (object.type != H5I_GROUP) return;
  const hsize_t links = count_links(object);
  for (hsize_t n = 0; n < links; ++n) {
    const H5VL_loc_params_t location = index_location(n);
    if (!is_hard(object, location)) continue;
    const OwnedUnder child = open_child(object, location);
    for_each_object(child.get(), seen, use);
  }
}

}  // namespace forebay::vol
