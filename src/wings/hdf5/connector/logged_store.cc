#include "hdf5/connector/logged_store.h"

#include <fmt/format.h>

#include <array>

#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/hooks.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

/// The name of the nth block of a kind. It uses no memory of the heap.
class BlockName {
 public:
  BlockName(const char* kind, std::uint64_t n) {
    *fmt::format_to_n(text_, sizeof text_ - 1, "{}{}", kind, n).out = '\0';
  }
  operator const char*() const { return text_; }

 private:
  char text_[40];
};

bool link_exists(const UnderObject& at, const char* name) {
  const H5VL_loc_params_t location = name_location(at.type, name);
  hbool_t exists = false;
  H5VL_link_specific_args_t args{};
  args.op_type = H5VL_LINK_EXISTS;
  args.args.exists.exists = &exists;
  if (H5VLlink_specific(at.object, &location, at.connector, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) < 0)
    throw_hdf5(std::string("looking for ") + name);
  return exists;
}

bool attribute_exists(const UnderObject& at, const char* name, hid_t dxpl) {
  const H5VL_loc_params_t location = self_location(at.type);
  hbool_t exists = false;
  H5VL_attr_specific_args_t args{};
  args.op_type = H5VL_ATTR_EXISTS;
  args.args.exists.name = name;
  args.args.exists.exists = &exists;
  if (H5VLattr_specific(at.object, &location, at.connector, &args, dxpl, nullptr) < 0)
    throw_hdf5(std::string("looking for the attribute ") + name);
  return exists;
}

void write_attribute(const UnderObject& at, const char* name, bool create,
                     const std::vector<std::byte>& bytes, hid_t dxpl) {
  const H5VL_loc_params_t location = self_location(at.type);
  const hsize_t size = bytes.size();  // on the stack: nothing of ours may fail here
  const Hdf5Id space = owned_space(H5Screate_simple(1, &size, nullptr));
  void* const object = create ? H5VLattr_create(at.object, &location, at.connector, name,
                                                H5T_STD_U8LE, space, H5P_ATTRIBUTE_CREATE_DEFAULT,
                                                H5P_ATTRIBUTE_ACCESS_DEFAULT, dxpl, nullptr)
                              : H5VLattr_open(at.object, &location, at.connector, name,
                                              H5P_ATTRIBUTE_ACCESS_DEFAULT, dxpl, nullptr);
  const OwnedUnder attribute(object, at.connector, H5I_ATTR);
  if (object == nullptr ||
      H5VLattr_write(object, at.connector, H5T_NATIVE_UINT8, bytes.data(), dxpl, nullptr) < 0)
    throw_hdf5(std::string("writing the attribute ") + name);
}

std::size_t size_of(const OwnedUnder& attribute, hid_t dxpl) {
  H5VL_attr_get_args_t args{};
  args.op_type = H5VL_ATTR_GET_SPACE;
  if (H5VLattr_get(attribute.object(), attribute.connector(), &args, dxpl, nullptr) < 0)
    throw_hdf5("asking for an attribute of the log");
  const Hdf5Id space = owned_space(args.args.get_space.space_id);
  return static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space), "sizing"));
}

void read_attribute(const OwnedUnder& attribute, std::byte* bytes, hid_t dxpl) {
  if (H5VLattr_read(attribute.object(), attribute.connector(), H5T_NATIVE_UINT8, bytes, dxpl,
                    nullptr) < 0)
    throw_hdf5("reading an attribute of the log");
}

const char* kind_of(logged::BlockSpace::Use use) {
  switch (use) {
    case logged::BlockSpace::Use::data:
      return logged::store_data;
    case logged::BlockSpace::Use::metadata:
      return logged::store_metadata;
    default:
      return logged::store_index;
  }
}

logged::MetadataBlock place_of(const OwnedUnder& dataset, const char* name) {
  H5VL_dataset_get_args_t size{};
  size.op_type = H5VL_DATASET_GET_STORAGE_SIZE;
  hsize_t bytes = 0;
  size.args.get_storage_size.storage_size = &bytes;
  if (H5VLdataset_get(dataset.object(), dataset.connector(), &size, H5P_DATASET_XFER_DEFAULT,
                      nullptr) < 0)
    throw_hdf5(std::string("asking where ") + name + " lies");
  const auto place = offset_of(dataset.get());
  if (!place || bytes == 0) logged::damaged_store(std::string(name) + " has no place in the file");
  return {*place, static_cast<Count>(bytes)};
}

/// Returns a block of the log; nullopt if there is none of that name.
std::optional<logged::MetadataBlock> block_of(const OwnedUnder& group, const char* name) {
  if (!link_exists(group.get(), name)) return std::nullopt;
  const H5VL_loc_params_t location = self_location(H5I_GROUP);
  const OwnedUnder dataset(
      H5VLdataset_open(group.object(), &location, group.connector(), name,
                       H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr),
      group.connector(), H5I_DATASET);
  if (!dataset) throw_hdf5(std::string("opening ") + name);
  return place_of(dataset, name);
}

}  // namespace

OwnedUnder LogStore::group() {
  if (group_) {
    const UnderObject& from = held_ ? held_.get() : file_;
    H5VL_loc_params_t location = self_location(from.type);
    location.type = H5VL_OBJECT_BY_TOKEN;
    location.loc_data.loc_by_token.token = &group_->token;
    return open_child(from, location);
  }
  const H5VL_loc_params_t location = self_location(file_.type);
  OwnedUnder group(H5VLgroup_open(file_.object, &location, file_.connector, logged::store_group,
                                  H5P_GROUP_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr),
                   file_.connector, H5I_GROUP);
  if (!group) throw_hdf5("opening the group of the log");
  group_ = info_of(group.get(), H5O_INFO_BASIC);
  return group;
}

void LogStore::create(std::uint64_t session) {
  std::vector<std::byte> state;
  agree_on_error(comm_, attempt_to([&] { state = logged::print_stored_file({session, index_}); }));
  const H5VL_loc_params_t location = self_location(file_.type);
  const OwnedUnder group(
      H5VLgroup_create(file_.object, &location, file_.connector, logged::store_group,
                       H5P_LINK_CREATE_DEFAULT, H5P_GROUP_CREATE_DEFAULT, H5P_GROUP_ACCESS_DEFAULT,
                       H5P_DATASET_XFER_DEFAULT, nullptr),
      file_.connector, H5I_GROUP);
  if (!group) throw_hdf5("making the group of the log");
  group_ = info_of(group.get(), H5O_INFO_BASIC);
  session_ = session;
  data_blocks_ = metadata_blocks_ = 0;
  write_attribute(group.get(), logged::store_file_attribute, true, state, H5P_DATASET_XFER_DEFAULT);
}

bool LogStore::open(bool writing) {
  comm_.meet();
  if (!link_exists(file_, logged::store_group)) return false;
  const OwnedUnder group = this->group();
  const OwnedUnder attribute =
      open_attribute(group.get(), logged::store_file_attribute, H5P_DATASET_XFER_DEFAULT);
  std::array<std::byte, 256> text;
  const std::size_t bytes = size_of(attribute, H5P_DATASET_XFER_DEFAULT);
  if (bytes > text.size()) logged::damaged_store("its attribute is longer than any that is known");
  read_attribute(attribute, text.data(), H5P_DATASET_XFER_DEFAULT);
  const auto stored = logged::parse_stored_file(std::span(text).first(bytes));
  session_ = stored.session;
  index_ = stored.index;
  if (index_ > 0) index_place_ = block_of(group, BlockName(logged::store_index, index_ - 1));
  if (writing) witness_ = block_of(group, logged::store_witness);
  if (witness_ && witness_->bytes != logged::witness_bytes)
    logged::damaged_store("the witness is no witness");
  return true;
}

std::uint64_t LogStore::count_of(const char* kind) {
  comm_.meet();
  const OwnedUnder group = this->group();
  return logged::count_blocks(
      [&](std::uint64_t n) { return link_exists(group.get(), BlockName(kind, n)); });
}

std::vector<logged::MetadataBlock> LogStore::blocks(std::uint64_t known) {
  metadata_blocks_ = count_of(logged::store_metadata);
  if (*metadata_blocks_ < known)
    logged::damaged_store("a block of metadata that the index names is missing");
  std::vector<logged::MetadataBlock> blocks(*metadata_blocks_);
  comm_.meet();
  const OwnedUnder group = this->group();
  for (std::uint64_t n = known; n < *metadata_blocks_; ++n) {
    // No index covers these blocks: the job was killed. HDF5 does not write its own metadata in one
    // step, so an unfinished flush may have left only the name of a block.
    const QuietErrors quiet;
    attempt_to([&] { blocks[n] = block_of(group, BlockName(logged::store_metadata, n)).value(); });
  }
  return blocks;
}

void LogStore::replace_index() {
  ++index_;  // on all ranks, whatever fails
  std::vector<std::byte> state;
  agree_on_error(comm_, attempt_to([&] { state = logged::print_stored_file({session_, index_}); }));
  // HDF5's metadata is the same on all ranks only if all make the same calls.
  const OwnedUnder group = this->group();
  write_attribute(group.get(), logged::store_file_attribute, false, state,
                  H5P_DATASET_XFER_DEFAULT);
  if (index_ >= 2) remove_link(group.get(), BlockName(logged::store_index, index_ - 2));
}

/// Collective. Replaces a block of that name, which a failed attempt may have left.
logged::MetadataBlock LogStore::make_block(const char* name, Count bytes) {
  Hdf5Id dcpl, space;
  agree_on_error(comm_, attempt_to([&] {
                   dcpl = owned_list(H5Pcreate(H5P_DATASET_CREATE));
                   checked(H5Pset_layout(dcpl, H5D_CONTIGUOUS), "choosing a layout");
                   checked(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY),
                           "choosing an allocation time");
                   checked(H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER), "choosing a fill time");
                   checked(H5Pset_obj_track_times(dcpl, false), "leaving times out");
                   space = simple_space({bytes});
                 }));
  const OwnedUnder group = this->group();
  if (link_exists(group.get(), name)) remove_link(group.get(), name);
  const H5VL_loc_params_t location = self_location(H5I_GROUP);
  const OwnedUnder dataset(
      H5VLdataset_create(group.object(), &location, group.connector(), name,
                         H5P_LINK_CREATE_DEFAULT, H5T_STD_U8LE, space, dcpl,
                         H5P_DATASET_ACCESS_DEFAULT, H5P_DATASET_XFER_DEFAULT, nullptr),
      group.connector(), H5I_DATASET);
  if (!dataset) throw_hdf5("making room for " + std::to_string(bytes) + " bytes of the log");
  return place_of(dataset, name);
}

Offset LogStore::witness_place() {
  if (!witness_) witness_ = make_block(logged::store_witness, logged::witness_bytes);
  return witness_->place;
}

Offset LogStore::allot(Use use, Count bytes) {
  auto& counter = use == Use::data ? data_blocks_ : metadata_blocks_;
  Offset place = -1;
  // Numbers have no gaps and are the same on all ranks.
  together(comm_, [&] {
    if (use != Use::index && !counter) counter = count_of(kind_of(use));
    const BlockName name(kind_of(use), use == Use::index ? index_ : *counter);
    place = make_block(name, bytes).place;
    // The last flushed file may have used this room, which was freed since.
    if (undo_ != nullptr && place < undo_->end() && comm_.is_root()) undo_->save(place, bytes);
  });
  if (use != Use::index) ++*counter;
  return place;
}

std::optional<StoredDataset> read_stored(const UnderObject& dataset, hid_t dxpl) {
  if (!attribute_exists(dataset, logged::store_dataset_attribute, dxpl)) return std::nullopt;
  const OwnedUnder attribute = open_attribute(dataset, logged::store_dataset_attribute, dxpl);
  std::vector<std::byte> bytes(size_of(attribute, dxpl));
  read_attribute(attribute, bytes.data(), dxpl);
  return logged::parse_stored_dataset(bytes);
}

void write_stored(const UnderObject& dataset, const StoredDataset& stored, bool create,
                  hid_t dxpl) {
  write_attribute(dataset, logged::store_dataset_attribute, create,
                  logged::print_stored_dataset(stored), dxpl);
}

}  // namespace forebay::vol
