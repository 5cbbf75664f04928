// compact=close: a log file becomes an ordinary one when it is closed. Its datasets are there from
// their creation on, with the hidden attribute that says that their values are in the log; so what
// refers to them, or links to them, stays right. Data of the log lies in subfiles, so that the file
// does not keep the room.
//
// Whatever fails, and whenever the job is killed: the log goes last, so a dataset has either its
// values or the attribute. HDF5 needs the same changes of its metadata on all ranks: each comes
// right behind a meeting, so that a rank that fails between two leaves the others as it is itself.
#include <algorithm>

#include "api/hdf5vol/logged_copy.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/id.h"

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

/// Whether the dataset below can take values, which it can if it was made with compact=close.
bool takes_values(const UnderObject& dataset) {
  const Hdf5Id space = space_of(dataset);
  return H5Sget_simple_extent_type(space) == H5S_SIMPLE && !is_external(dataset);
}

void for_each_stand_in(const UnderObject& root,
                       const std::function<void(const UnderObject&, const StoredDataset&)>& use) {
  SeenObjects seen;
  for_each_object(root, seen, [&](const UnderObject& object) {
    if (object.type != H5I_DATASET) return;
    if (const auto stored = read_stored(object, H5P_DATASET_XFER_DEFAULT)) use(object, *stored);
  });
}

}  // namespace

Hdf5Id compactable_space(hid_t space, hid_t dcpl) {
  Hdf5Id copy = owned_space(H5Scopy(space));
  if (H5Pget_layout(dcpl) != H5D_CHUNKED) return copy;
  // The extents come at the end: until then there are no chunks to allocate and fill.
  std::vector<hsize_t> extents(H5S_MAX_RANK), maximum(H5S_MAX_RANK);
  const int n = checked(H5Sget_simple_extent_dims(space, extents.data(), maximum.data()),
                        "asking for extents");
  std::fill(extents.begin(), extents.end(), 0);
  checked(H5Sset_extent_simple(copy, n, extents.data(), maximum.data()), "setting extents");
  return copy;
}

Hdf5Id compactable_properties(hid_t dcpl) {
  Hdf5Id copy = owned_list(H5Pcopy(dcpl));
  // Every element is written in the end.
  if (H5Pget_layout(dcpl) == H5D_CONTIGUOUS)
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
    // Chunks that nobody wrote need not be, but where HDF5 has allocated them already.
    H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
    checked(H5Pget_alloc_time(state->dcpl(), &time), "asking for the allocation time");
    to.blanks = time == H5D_ALLOC_TIME_EARLY || (mpi_io_ && !to.filtered);
  }
  write_native(comm_, to, [&](const Placed& box, std::span<std::byte> values) {
    return read_present(*file_, *state, box, values);
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

void LoggedHooks::compact(const UnderObject& at) {
  const OwnedUnder root = open_child(at, name_location(at.type, "/"));
  if (!compacted_) {
    bool all = true;
    for_each_stand_in(root.get(), [&](const UnderObject& dataset, const StoredDataset&) {
      all = all && takes_values(dataset);
    });
    if (!all) return;
    // From here on the file on the disk is a log file, whole, whatever happens.
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
  file_->remove_subfiles();  // only now: nothing brings back a file that needs them
}

}  // namespace forebay::vol
