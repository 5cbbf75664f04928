#include "hdf5/connector/native_dataset.h"

#include <algorithm>

#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

constexpr Count tile_bytes = 8 << 20;

/// One rank's part of an H5Dwrite.
struct Part {
  std::vector<Steps> box;  // empty: this rank takes part with no data
  std::vector<std::byte> values;
  Hdf5Id memory;
};

/// Selects the part in `space`.
void select(const NativeDataset& to, hid_t space, Part& part) {
  if (part.box.empty()) part.values.resize(static_cast<std::size_t>(to.element_size));
  const hsize_t elements = part.values.size() / static_cast<std::size_t>(to.element_size);
  part.memory = owned_space(H5Screate_simple(1, &elements, nullptr));
  if (part.box.empty()) {
    checked(H5Sselect_none(space), "selecting nothing");
    checked(H5Sselect_none(part.memory), "selecting nothing");
    return;
  }
  std::vector<hsize_t> start, count;
  for (const Steps& steps : part.box) {
    start.push_back(static_cast<hsize_t>(steps.start));
    count.push_back(static_cast<hsize_t>(steps.count));
  }
  checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          "selecting a part of a dataset");
}

void write_part(const NativeDataset& to, hid_t space, const Part& part, hid_t dxpl) {
  void* object = to.dataset.object;
  hid_t type = to.type, memory_space = part.memory, file_space = space;
  const void* buffer = part.values.data();
  if (H5VLdataset_write(1, &object, to.dataset.connector, &type, &memory_space, &file_space, dxpl,
                        &buffer, nullptr) < 0)
    throw_hdf5("writing values out of the log");
}

/// Writes zeros for tiles that nobody wrote, each one run of bytes, because the storage may have
/// been used before.
void write_zeros(const NativeDataset& to, const Tiles& tiles, const std::vector<Count>& blank,
                 hid_t space, hid_t dxpl) {
  const auto place = blank.empty() ? std::nullopt : offset_of(to.dataset);
  if (!place) return;  // without storage HDF5 returns zeros
  Part part;
  for (const Count tile : blank) {
    part.box = tiles.box(tile);
    Count first = 0, elements = 1;
    for (std::size_t d = 0; d < part.box.size(); ++d) {
      first = first * to.extents[d] + part.box[d].start;
      elements *= part.box[d].count;
    }
    if (to.release(*place + first * to.element_size, elements * to.element_size)) continue;
    part.values.assign(static_cast<std::size_t>(elements * to.element_size), std::byte{0});
    select(to, space, part);
    write_part(to, space, part, dxpl);
  }
}

}  // namespace

Tiles::Tiles(std::span<const Count> extents, Count element_size, std::span<const hsize_t> chunk)
    : extents_(extents.begin(), extents.end()) {
  const std::size_t n = extents_.size();
  shape_.assign(n, 1);
  for (std::size_t d = 0; d < chunk.size(); ++d)
    shape_[d] = std::min(extents_[d], static_cast<Count>(chunk[d]));
  Count bytes = element_size;
  for (const Count edge : shape_) bytes *= edge;
  for (std::size_t d = n; d-- > 0;) {
    const Count units = (extents_[d] + shape_[d] - 1) / shape_[d];
    const Count take = std::clamp<Count>(tile_bytes / bytes, 1, units);
    shape_[d] *= take, bytes *= take;
    if (take < units) break;
  }
  for (std::size_t d = 0; d < n; ++d) {
    counts_.push_back((extents_[d] + shape_[d] - 1) / shape_[d]);
    size_ *= counts_.back();
  }
}

std::vector<Steps> Tiles::box(Count n) const {
  std::vector<Steps> box(extents_.size());
  for (std::size_t d = extents_.size(); d-- > 0; n /= counts_[d]) {
    const Count start = n % counts_[d] * shape_[d];
    box[d] = {start, std::min(shape_[d], extents_[d] - start), 1};
  }
  return box;
}

void write_native(const Comm& comm, const NativeDataset& to, const GetValues& get) {
  const Tiles tiles(to.extents, to.element_size, to.chunk);
  const bool collective = to.filtered && comm.size() > 1;
  // HDF5 reads a transfer list once for each call of the program; within that call it would ignore
  // another list.
  const LibraryContext own;
  Hdf5Id dxpl, space;
  const auto unready = attempt_to([&] {
    dxpl = owned_list(H5Pcreate(H5P_DATASET_XFER));
    if (collective) set_collective(dxpl);
    std::vector<hsize_t> dims(to.extents.begin(), to.extents.end());
    space = owned_space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  });
  agree_on_error(comm, unready);
  Part part;
  std::vector<Count> blank;
  std::optional<Error> failed;
  for (Count first = 0; first < tiles.size(); first += comm.size()) {
    const auto problem = attempt_to([&] {
      part.box.clear();
      if (first + comm.rank() < tiles.size()) {
        part.box = tiles.box(first + comm.rank());
        const Placed placed = box_pattern(to.extents, part.box);
        part.values.resize(static_cast<std::size_t>(placed.pattern.elements() * to.element_size));
        if (!get(placed, part.values)) {
          if (to.blanks && to.release) blank.push_back(first + comm.rank());
          if (!to.blanks || to.release) part.box.clear();
        }
      }
      if (collective || !part.box.empty()) select(to, space, part);
    });
    // A rank that failed before HDF5's collective call would leave the others waiting in it.
    if (collective) agree_on_error(comm, problem);
    const auto refused = attempt_to([&] {
      if (!problem && (collective || !part.box.empty())) write_part(to, space, part, dxpl);
    });
    if (!failed) failed = problem ? problem : refused;
  }
  if (!failed) failed = attempt_to([&] { write_zeros(to, tiles, blank, space, dxpl); });
  agree_on_error(comm, failed);
}

}  // namespace forebay::vol
