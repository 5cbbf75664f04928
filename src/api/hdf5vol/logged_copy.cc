// H5Ocopy of what is in a log: the connector below has copied stand-ins, each with the number of
// its source. The copies get numbers of their own, and the values of the source.
#include <algorithm>
#include <set>

#include "api/hdf5vol/logged_file.h"
#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay::vol {
namespace {

constexpr Count rows_bytes = 8 << 20;

OwnedUnder open_child(const UnderObject& at, const H5VL_loc_params_t& location) {
  H5I_type_t type = H5I_BADID;
  void* const object =
      H5VLobject_open(at.object, &location, at.connector, &type, H5P_DATASET_XFER_DEFAULT, nullptr);
  if (object == nullptr) throw Error(Errc::ehdferr, "HDF5: opening a copied object failed");
  return {object, at.connector, type};
}

hsize_t count_links(const UnderObject& group) {
  H5G_info_t info{};
  H5VL_group_get_args_t args{};
  args.op_type = H5VL_GROUP_GET_INFO;
  args.args.get_info.loc_params = self_location(H5I_GROUP);
  args.args.get_info.ginfo = &info;
  if (H5VLgroup_get(group.object, group.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a copied group failed");
  return info.nlinks;
}

H5VL_loc_params_t index_location(hsize_t n) {
  H5VL_loc_params_t location{};
  location.obj_type = H5I_GROUP;
  location.type = H5VL_OBJECT_BY_IDX;
  location.loc_data.loc_by_idx = {".", H5_INDEX_NAME, H5_ITER_INC, n, H5P_LINK_ACCESS_DEFAULT};
  return location;
}

bool is_hard(const UnderObject& group, const H5VL_loc_params_t& location) {
  H5L_info2_t info{};
  H5VL_link_get_args_t args{};
  args.op_type = H5VL_LINK_GET_INFO;
  args.args.get_info.linfo = &info;
  if (H5VLlink_get(group.object, &location, group.connector, &args, H5P_DATASET_XFER_DEFAULT,
                   nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a copied link failed");
  return info.type == H5L_TYPE_HARD;
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
    throw Error(Errc::ehdferr, "HDF5: asking for a copied object failed");
  return info;
}

std::vector<std::byte> token_of(const UnderObject& object) {
  const H5O_info2_t info = info_of(object);
  const auto* bytes = reinterpret_cast<const std::byte*>(&info.token);
  return {bytes, bytes + sizeof info.token};
}

std::string attribute_name(const UnderObject& object, hsize_t n) {
  H5VL_loc_params_t location = index_location(n);
  location.obj_type = object.type;
  char name[256];
  std::size_t length = 0;
  H5VL_attr_get_args_t args{};
  args.op_type = H5VL_ATTR_GET_NAME;
  args.args.get_name = {location, sizeof name, name, &length};
  if (H5VLattr_get(object.object, object.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a copied attribute failed");
  return {name, std::min(length, sizeof name - 1)};
}

void remove_attribute(const UnderObject& object, const std::string& name) {
  const H5VL_loc_params_t location = self_location(object.type);
  H5VL_attr_specific_args_t args{};
  args.op_type = H5VL_ATTR_DELETE;
  args.args.del.name = name.c_str();
  if (H5VLattr_specific(object.object, &location, object.connector, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: removing a copied attribute failed");
}

/// What H5O_COPY_WITHOUT_ATTR_FLAG asks for, but for what is Forebay's.
void remove_visible_attributes(const UnderObject& object) {
  for (hsize_t n = info_of(object).num_attrs; n-- > 0;) {
    const std::string name = attribute_name(object, n);
    if (!is_reserved(name)) remove_attribute(object, name);
  }
}

/// Calls `use` for an object and every one below it, once each, however it is linked.
void for_each_object(const UnderObject& object, std::set<std::vector<std::byte>>& seen,
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

Hid type_of(const UnderObject& dataset) {
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_TYPE;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    throw Error(Errc::ehdferr, "HDF5: asking for a dataset's datatype failed");
  return owned_type(args.args.get_type.type_id);
}

}  // namespace

/// Local: this rank's share of the rows, which every rank takes in turn.
void copy_values(LoggedFile& from, DatasetState& source, LoggedFile& to, DatasetState& copy) {
  const auto& extents = source.extents();
  const auto dims = static_cast<std::uint32_t>(extents.size());
  if (std::find(extents.begin(), extents.end(), 0) != extents.end() ||
      from.reader().stored_bytes(source.id(), dims) == 0)
    return;
  Count row = static_cast<Count>(source.element_size());
  for (std::size_t d = 1; d < extents.size(); ++d) row *= extents[d];
  const Count rows = std::clamp<Count>(rows_bytes / row, 1, extents[0]);
  Count turn = 0;
  for (Count first = 0; first < extents[0]; first += rows) {
    if (turn++ % to.comm().size() != to.comm().rank()) continue;
    std::vector<Steps> steps{{first, std::min(rows, extents[0] - first), 1}};
    for (std::size_t d = 1; d < extents.size(); ++d) steps.push_back({0, extents[d], 1});
    const Placed box = box_pattern(extents, steps);
    append_values(to, copy, box, present_values(from, source, box), false);
    to.writer().make_room();
  }
}

void LoggedHooks::object_copied(const ObjectCopy& copy) {
  auto* const source = static_cast<LoggedHooks*>(copy.source_hooks);
  if (source == nullptr) return;  // datasets of an ordinary file stay ordinary
  // What other ranks wrote is seen from here on.
  if (source->file_->writing()) {
    source->store_.move_to(copy.source);
    source->flush();
  }
  auto at = copy.destination;
  H5VL_loc_params_t location = name_location(at.type, copy.destination_name);
  const OwnedUnder parent = copy.destination_location->type == H5VL_OBJECT_BY_SELF
                                ? OwnedUnder()
                                : open_child(copy.destination, *copy.destination_location);
  if (parent) at = parent.get(), location.obj_type = at.type;
  const OwnedUnder top = open_child(at, location);
  std::set<std::vector<std::byte>> seen;
  std::optional<Error> failed;
  unsigned flags = 0;
  checked(H5Pget_copy_object(copy.ocpypl, &flags), "asking how to copy");
  for_each_object(top.get(), seen, [&](const UnderObject& dataset) {
    if ((flags & H5O_COPY_WITHOUT_ATTR_FLAG) != 0) remove_visible_attributes(dataset);
    if (dataset.type != H5I_DATASET) return;
    auto stored = read_stored(dataset, copy.dxpl);
    if (!stored) return;
    if (copy.destination_hooks == nullptr)
      throw Error(Errc::enotsupport, "a dataset in a log cannot be copied into an ordinary file",
                  "forebay convert IN OUT --to hdf5 makes an ordinary file of the whole");
    const Hid type = type_of(dataset);
    const auto original = source->adopt(*stored, type);
    stored->id = new_id();
    stored->extents = original->extents();
    write_stored(dataset, *stored, false, copy.dxpl);
    const auto state = adopt(*stored, type);
    if (!failed)
      failed = attempt_to([&] { copy_values(*source->file_, *original, *file_, *state); });
  });
  agree_on_error(comm_, failed);
}

}  // namespace forebay::vol
