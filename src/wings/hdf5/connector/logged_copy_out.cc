// H5Ocopy from a log file into an ordinary one. The connector below has copied stand-ins. Each is
// replaced by a dataset with the original's type, extents, creation properties and values, with the
// stand-in's attributes except the hidden one, and with all its links. A group that keeps the order
// in which its links were made keeps that order.
#include <map>
#include <set>

#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/logged_copy.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

/// Returns how the file of an object of the connector below was opened.
std::optional<MpiAccess> mpi_access_of(const UnderObject& object) {
  const H5VL_loc_params_t location = self_location(object.type);
  void* file = nullptr;
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_FILE;
  args.args.get_file.file = &file;
  H5VL_file_get_args_t list{};
  list.op_type = H5VL_FILE_GET_FAPL;
  if (H5VLobject_get(object.object, &location, object.connector, &args, H5P_DATASET_XFER_DEFAULT,
                     nullptr) < 0 ||
      H5VLfile_get(file, object.connector, &list, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw_hdf5("asking how the file of the copy was opened");
  const Hdf5Id fapl = owned_list(list.args.get_fapl.fapl_id);
  return MpiAccess::of(fapl);
}

/// One copy into an ordinary file.
class CopyOut {
 public:
  CopyOut(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes);

  /// Handles the object to which `link` of `parent` leads, and all objects below it. Returns true
  /// if the link was replaced.
  bool replace(const UnderObject& parent, const UnderLink& link);

 private:
  void replace_in(const UnderObject& group);
  const UnderObject& replacement_of(const UnderObject& stand_in, const StoredDataset& stored);
  void write_values(DatasetState& original, const UnderObject& to);

  LoggedHooks& source_;
  const ObjectCopy& copy_;
  bool without_attributes_;
  Comm comm_;  // ranks that opened the copy's file
  bool collective_ = false;
  std::set<std::vector<std::byte>> seen_;  // tokens of objects that need no replacement
  std::map<std::vector<std::byte>, OwnedUnder> replacements_;  // by the stand-in's token
};

CopyOut::CopyOut(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes)
    : source_(source), copy_(copy), without_attributes_(without_attributes) {
  if (const auto mpi = mpi_access_of(copy.destination)) {
    comm_ = mpi->ranks();
    collective_ = comm_.size() > 1;
  }
  // All ranks are here, so a flush can make the writes of others visible.
  if (collective_ && comm_.size() == source.file().comm().size()) source.flush_from(copy.source);
}

/// Returns the dataset that replaces a stand-in; makes it at the first call.
const UnderObject& CopyOut::replacement_of(const UnderObject& stand_in,
                                           const StoredDataset& stored) {
  OwnedUnder& made = replacements_[token_of(stand_in)];
  if (made) return made.get();
  const Hdf5Id type = type_of(stand_in);
  const auto original = source_.adopt(stored, type);
  const Hdf5Id space = original->make_space();
  const H5VL_loc_params_t location = self_location(copy_.destination.type);
  made = OwnedUnder(
      H5VLdataset_create(copy_.destination.object, &location, copy_.destination.connector, nullptr,
                         H5P_LINK_CREATE_DEFAULT, type, space, original->dcpl(),
                         H5P_DATASET_ACCESS_DEFAULT, copy_.dxpl, nullptr),
      copy_.destination.connector, H5I_DATASET);
  if (!made) throw_hdf5("creating the copy of a dataset");
  if (!without_attributes_)
    for (const std::string& name : attribute_names(stand_in))
      if (!is_reserved(name)) copy_attribute(stand_in, made.get(), name);
  write_values(*original, made.get());
  return made.get();
}

void CopyOut::write_values(DatasetState& original, const UnderObject& to) {
  std::int64_t has = 0;
  const auto failed = attempt_to([&] { has = has_data(source_.file(), original) ? 1 : 0; });
  agree_on_error(comm_, failed);
  if (comm_.all_reduce(has, Reduce::max) == 0) return;
  // What is not written has the fill value: HDF5 fills datasets that it makes.
  write_native(comm_, native_dataset(original, to),
               [&](const Placed& box, std::span<std::byte> values) {
                 return read_present(source_.file(), original, box, values);
               });
}

bool CopyOut::replace(const UnderObject& parent, const UnderLink& link) {
  const OwnedUnder object = open_child(parent, name_location(parent.type, link.name.c_str()));
  const bool dataset = object.get().type == H5I_DATASET;
  const auto stored = dataset ? read_stored(object.get(), copy_.dxpl) : std::nullopt;
  if (!stored) {
    if (!seen_.insert(token_of(object.get())).second) return false;
    if (without_attributes_) remove_visible_attributes(object.get());
    if (object.get().type == H5I_GROUP) replace_in(object.get());
    return false;
  }
  const bool last_link = info_of(object.get()).rc == 1;
  const UnderObject made = replacement_of(object.get(), *stored);
  remove_link(parent, link.name.c_str());
  link_to(made, parent, link);
  if (last_link) replacements_.erase(token_of(object.get()));
  return true;
}

void CopyOut::replace_in(const UnderObject& group) {
  const bool ordered = keeps_order(group);
  bool younger = false;  // an earlier link is now the youngest: later ones must follow
  for (const UnderLink& link : links_of(group)) {
    if (is_reserved(link.name)) continue;  // in a copy of the root group; removed afterwards
    if (link.hard && replace(group, link)) {
      younger = true;
    } else if (ordered && younger) {
      const UnderLink aside{std::string(reserved_prefix) + "aside", link.hard, link.encoding};
      rename_link(group, link, aside.name);
      rename_link(group, aside, link.name);
    }
  }
}

}  // namespace

void copy_out(LoggedHooks& source, const ObjectCopy& copy, bool without_attributes) {
  const CopyPlace place = place_of(copy);
  try {
    CopyOut(source, copy, without_attributes)
        .replace(place.at, link_at(place.at, copy.destination_name));
  } catch (...) {
    const ErrorStackSaver saver;
    attempt_to([&] { remove_link(place.at, copy.destination_name); });
    throw;
  }
}

}  // namespace forebay::vol
