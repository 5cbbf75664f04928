// compact=close: a log file becomes an ordinary one when it is closed. Its datasets exist from
// their creation on, so references and links to them stay right. A hidden attribute says that their
// values are in the log. The log's data is in subfiles, so the file does not keep that space.
// Natively the datasets would read as zeros, so the file is no HDF5 file until all values are in it
// (hdf5/log/masked_signature.h).
//
// The log is removed last, so after any failure or kill a dataset has its values or the attribute.
// HDF5 needs the same metadata changes on all ranks. Each change follows directly after a
// collective step, so a rank that fails between two changes leaves the others in its own state.
#include <algorithm>

#include "base/hdf5_signature.h"
#include "comm/agree.h"
#include "hdf5/connector/logged_copy.h"
#include "hdf5/connector/watched_driver.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

void set_extents_below(const UnderObject& dataset, const std::vector<hsize_t>& size) {
  H5VL_dataset_specific_args_t args{};
  args.op_type = H5VL_DATASET_SET_EXTENT;
  args.args.set_extent.size = size.data();
  if (H5VLdataset_specific(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT,
                           nullptr) < 0)
    throw_hdf5("setting a dataset's extents");
}

/// Returns whether HDF5 writes the fill value into a contiguous dataset when it allocates it.
/// Otherwise it leaves a hole, and returns zeros.
bool is_filled_by_hdf5(hid_t dcpl) {
  const auto [value, time] = fill_rule_of(dcpl);
  if (value == H5D_FILL_VALUE_UNDEFINED || time == H5D_FILL_TIME_NEVER) return false;
  return value == H5D_FILL_VALUE_USER_DEFINED || time == H5D_FILL_TIME_ALLOC;
}

void for_each_stand_in(const UnderObject& root,
                       const std::function<void(const UnderObject&, const StoredDataset&)>& use) {
  for_each_object(root, [&](const UnderObject& object) {
    if (object.type != H5I_DATASET) return;
    if (const auto stored = read_stored(object, H5P_DATASET_XFER_DEFAULT)) use(object, *stored);
  });
}

}  // namespace

Hdf5Id compactable_space(hid_t space, hid_t dcpl) {
  if (H5Pget_layout(dcpl) != H5D_CHUNKED) return owned_space(H5Scopy(space));
  // The extents are set at the end: until then HDF5 has no chunks to allocate and fill.
  const Extents extents = extents_of(space);
  return simple_space(std::vector<Count>(extents.now.size(), 0), extents.most);
}

Hdf5Id compactable_properties(hid_t dcpl) {
  Hdf5Id copy = owned_list(H5Pcopy(dcpl));
  // If HDF5 would fill the dataset now, every element is written in the end.
  if (H5Pget_layout(dcpl) == H5D_CONTIGUOUS && is_filled_by_hdf5(dcpl))
    checked(H5Pset_fill_time(copy, H5D_FILL_TIME_NEVER), "choosing a fill time");
  return copy;
}

/// Collective. Writes the values of one dataset into itself.
void LoggedHooks::compact_dataset(const UnderObject& dataset, const StoredDataset& stored) {
  const Hdf5Id type = type_of(dataset);
  const auto state = adopt(stored, type);
  const auto& extents = state->extents();
  const std::vector<hsize_t> size(extents.begin(), extents.end());
  comm_.meet();
  if (state->chunked()) set_extents_below(dataset, size);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  NativeDataset to = native_dataset(*state, dataset);
  if (state->chunked()) {
    // Chunks that nobody wrote are needed only if HDF5 has allocated them already.
    to.blanks = alloc_time_of(state->dcpl()) == H5D_ALLOC_TIME_EARLY || (mpi_io_ && !to.filtered);
  } else {
    to.blanks = state->has_fill();
    if (!is_filled_by_hdf5(state->dcpl()))
      to.release = [&](Offset place, Count bytes) { return file_->release(place, bytes); };
  }
  std::size_t filled = 0;  // bytes that still have fill values from the previous box
  write_native(comm_, to, [&](const Placed& box, std::span<std::byte> values) {
    if (values.size() > filled) state->fill(values);
    const bool any = file_->read(state->shape(), box, values);
    filled = any ? 0 : values.size();
    return any;
  });
}

void LoggedHooks::remove_log(const UnderObject& root) {
  for_each_stand_in(root, [&](const UnderObject& dataset, const StoredDataset&) {
    comm_.meet();
    remove_attribute(dataset, logged::store_dataset_attribute);
  });
  comm_.meet();
  store_.remove();
  compacted_ = true;
}

/// Collective. The file has all its final contents but the signature.
void LoggedHooks::unmask_signature() {
  unmask(*undo_);
  by_root(comm_, [&] { file_->put_signature(*masked_, hdf5_signature); });
}

void LoggedHooks::compact(const UnderObject& at) {
  const OwnedUnder root = open_child(at, name_location(at.type, "/"));
  if (!compacted_) {
    // From here on the file on disk is a whole log file, whatever happens.
    comm_.meet();
    flush_below(at, H5F_SCOPE_LOCAL);
    for_each_stand_in(root.get(), [&](const UnderObject& dataset, const StoredDataset& stored) {
      compact_dataset(dataset, stored);
    });
    comm_.meet();
    flush_below(at, H5F_SCOPE_LOCAL);
    remove_log(root.get());
  }
  comm_.meet();
  flush_below(at, H5F_SCOPE_LOCAL);
  unmask_signature();
  file_->remove_subfiles();  // only now: no restored file can need them
}

}  // namespace forebay::vol
