#include "hdf5/files/hdf5_chunks.h"

#include <algorithm>
#include <optional>

namespace forebay {
namespace {

// Is called with a chunk as HDF5 reports it. `offset` is that of its first element.
using OnChunk =
    std::function<void(const hsize_t* offset, unsigned skipped, haddr_t place, hsize_t bytes)>;

#if H5_VERSION_GE(1, 14, 0)

void each_place(hid_t dataset, OnChunk& visit) {
  const auto call = [](const hsize_t* offset, unsigned skipped, haddr_t place, hsize_t bytes,
                       void* data) {
    (*static_cast<OnChunk*>(data))(offset, skipped, place, bytes);
    return 0;
  };
  checked(H5Dchunk_iter(dataset, H5P_DEFAULT, call, &visit), "its chunks");
}

bool places_are_quick(hid_t) { return true; }

#else

constexpr hsize_t most_places = 16384;

hsize_t count_chunks(hid_t dataset, hid_t space) {
  hsize_t chunks = 0;
  checked(H5Dget_num_chunks(dataset, space, &chunks), "its chunks");
  return chunks;
}

void each_place(hid_t dataset, OnChunk& visit) {
  const Hdf5Id space = owned(H5Dget_space(dataset), "its dataspace");
  const hsize_t chunks = count_chunks(dataset, space);
  hsize_t offset[H5S_MAX_RANK] = {};
  for (hsize_t i = 0; i < chunks; ++i) {
    unsigned skipped = 0;
    haddr_t place = HADDR_UNDEF;
    hsize_t bytes = 0;
    checked(H5Dget_chunk_info(dataset, space, i, offset, &skipped, &place, &bytes), "its chunks");
    visit(offset, skipped, place, bytes);
  }
}

bool places_are_quick(hid_t dataset) {
  const Hdf5Id space = owned(H5Dget_space(dataset), "its dataspace");
  return count_chunks(dataset, space) <= most_places;
}

#endif

void each_size(hid_t dataset, const std::vector<Count>& shape, const std::vector<Count>& extents,
               OnChunk& visit) {
  std::vector<hsize_t> offset(shape.size(), 0);
  for (bool more = true; more;) {
    hsize_t bytes = 0;
    checked(H5Dget_chunk_storage_size(dataset, offset.data(), &bytes), "its chunks");
    visit(offset.data(), 0, HADDR_UNDEF, bytes);
    more = false;
    for (std::size_t d = offset.size(); d-- > 0 && !more;) {
      offset[d] += static_cast<hsize_t>(shape[d]);
      more = static_cast<Count>(offset[d]) < extents[d];
      if (!more) offset[d] = 0;
    }
  }
}

}  // namespace

void each_chunk_of(hid_t dataset, const std::vector<Count>& shape,
                   const std::vector<Count>& extents,
                   const std::function<void(const ChunkPlace&)>& visit) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::vector<Count> at(shape.size());
  OnChunk each = [&](const hsize_t* offset, unsigned skipped, haddr_t place, hsize_t bytes) {
    if (bytes == 0) return;
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = static_cast<Count>(offset[d]) / shape[d];
    std::optional<Offset> known;
    if (place != HADDR_UNDEF) known = static_cast<Offset>(place);
    visit({at, static_cast<Count>(bytes), known, skipped == 0});
  };
  if (places_are_quick(dataset)) {
    each_place(dataset, each);
  } else {
    each_size(dataset, shape, extents, each);
  }
}

}  // namespace forebay
