#include "hdf5/connector/native_dataset.h"

#include "array/blocks.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

/// One rank's part of an H5Dwrite.
struct Part {
  Subarray box;  // no dimensions: this rank takes part with no data
  std::vector<std::byte> values;
  Hdf5Id memory;

  bool empty() const { return box.start.empty(); }
};

/// Selects the part in `space`.
void select_part(const NativeDataset& to, hid_t space, Part& part) {
  if (part.empty()) part.values.resize(static_cast<std::size_t>(to.element_size));
  part.memory = simple_space({std::ssize(part.values) / to.element_size});
  if (part.empty()) {
    checked(H5Sselect_none(space), "selecting nothing");
    checked(H5Sselect_none(part.memory), "selecting nothing");
  } else {
    select(space, part.box);
  }
}

void write_part(const NativeDataset& to, hid_t space, const Part& part, hid_t dxpl) {
  void* object = to.dataset.object;
  hid_t type = to.type, memory_space = part.memory, file_space = space;
  const void* buffer = part.values.data();
  if (H5VLdataset_write(1, &object, to.dataset.connector, &type, &memory_space, &file_space, dxpl,
                        &buffer, nullptr) < 0)
    throw_hdf5("writing values out of the log");
}

}  // namespace

void write_native(const Comm& comm, const NativeDataset& to, const GetValues& get) {
  const Blocks boxes(to.extents, to.chunk, to.element_size, native_box_bytes);
  const bool collective = to.filtered && comm.size() > 1;
  // HDF5 reads a transfer list once for each call of the program; within that call it would ignore
  // another list.
  const LibraryContext own;
  Hdf5Id dxpl, space;
  const auto unready = attempt_to([&] {
    dxpl = owned_list(H5Pcreate(H5P_DATASET_XFER));
    if (collective) set_collective(dxpl);
    space = simple_space(to.extents);
  });
  agree_on_error(comm, unready);
  Part part;
  std::optional<Error> failed;
  for (Count first = 0; first < boxes.size(); first += comm.size()) {
    const auto problem = attempt_to([&] {
      part.box = {};
      if (first + comm.rank() < boxes.size()) {
        part.box = boxes[first + comm.rank()];
        const Placed placed = box_pattern(to.extents, part.box);
        part.values.resize(static_cast<std::size_t>(placed.pattern.elements() * to.element_size));
        if (!get(placed, part.values)) part.box = {};
      }
      if (collective || !part.empty()) select_part(to, space, part);
    });
    // A rank that failed before HDF5's collective call would leave the others waiting in it.
    if (collective) agree_on_error(comm, problem);
    const auto refused = attempt_to([&] {
      if (!problem && (collective || !part.empty())) write_part(to, space, part, dxpl);
    });
    if (!failed) failed = problem ? problem : refused;
  }
  agree_on_error(comm, failed);
}

}  // namespace forebay::vol
