#include "hdf5/convert/placed.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "array/blocks.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fill_elements.h"
#include "comm/message_bytes.h"
#include "hdf5/convert/storage.h"

namespace forebay::tools {

namespace {

Count product(std::span<const Count> list) {
  return std::accumulate(list.begin(), list.end(), Count{1}, std::multiplies<>());
}

std::vector<Count> grid_of(const std::vector<Count>& extents, const std::vector<Count>& chunk) {
  std::vector<Count> grid;
  for (std::size_t d = 0; d < extents.size(); ++d)
    grid.push_back(extents[d] / chunk[d] + (extents[d] % chunk[d] != 0));
  return grid;
}

}  // namespace

PlacedValues::PlacedValues(hid_t dataset, hid_t creation, const std::vector<Count>& extents,
                           std::vector<std::byte> fill)
    : extents_(extents), chunk_(chunk_shape_of(creation, extents.size())), fill_(std::move(fill)) {
  const auto place = [&](haddr_t at) {
    if (at == HADDR_UNDEF) throw Error(Errc::ehdferr, "a dataset has no space in the output");
    places_.push_back(static_cast<Offset>(at));
  };
  if (chunk_.empty()) {
    place(H5Dget_offset(dataset));
    return;
  }
  each_index(grid_of(extents_, chunk_), [&](const std::vector<Count>& index) {
    std::vector<hsize_t> first;
    for (std::size_t d = 0; d < index.size(); ++d)
      first.push_back(static_cast<hsize_t>(index[d] * chunk_[d]));
    unsigned mask = 0;
    hsize_t bytes = 0;
    haddr_t at = HADDR_UNDEF;
    checked(H5Dget_chunk_info_by_coord(dataset, first.data(), &mask, &at, &bytes), "a chunk");
    if (std::cmp_not_equal(bytes, product(chunk_) * width()))
      throw Error(Errc::ehdferr, "a chunk has another size than its elements");
    place(at);
  });
}

void PlacedValues::write(int fd, const std::string& path, const Subarray& box,
                         std::span<const std::byte> data) const {
  if (chunk_.empty())
    write_rows(fd, path, box, data);
  else
    write_chunks(fd, path, box, data);
}

/// Bytes that are contiguous in the dataset are written in one call.
void PlacedValues::write_rows(int fd, const std::string& path, const Subarray& box,
                              std::span<const std::byte> data) const {
  std::size_t d = box.count.size();
  Count together = 1;
  while (d > 0) {
    together *= box.count[--d];
    if (box.count[d] != extents_[d]) break;
  }
  const std::vector<Count> rows(box.count.begin(),
                                box.count.begin() + static_cast<std::ptrdiff_t>(d));
  const auto bytes = static_cast<std::size_t>(together * width());
  std::size_t taken = 0;
  each_index(rows, [&](const std::vector<Count>& row) {
    std::vector<Count> index = box.start;
    for (std::size_t i = 0; i < row.size(); ++i) index[i] += row[i];
    write_at(fd, places_[0] + flat_index(extents_, index) * width(), data.subspan(taken, bytes),
             path);
    taken += bytes;
  });
}

void PlacedValues::write_chunks(int fd, const std::string& path, const Subarray& box,
                                std::span<const std::byte> data) const {
  const std::vector<Count> grid = grid_of(extents_, chunk_);
  std::vector<Count> chunks;
  for (std::size_t d = 0; d < chunk_.size(); ++d) {
    const Count end = box.start[d] + box.count[d];
    if (box.start[d] % chunk_[d] != 0 || (end % chunk_[d] != 0 && end != extents_[d]))
      throw Error(Errc::einternal, "a piece cuts a chunk of the output");
    chunks.push_back((box.count[d] + chunk_[d] - 1) / chunk_[d]);
  }
  const auto chunk_bytes = static_cast<std::size_t>(product(chunk_) * width());
  std::vector<std::byte> bytes;
  each_index(chunks, [&](const std::vector<Count>& index) {
    std::vector<Count> in_grid, first, count;
    bool whole = true;
    for (std::size_t d = 0; d < index.size(); ++d) {
      in_grid.push_back(box.start[d] / chunk_[d] + index[d]);
      first.push_back(index[d] * chunk_[d]);
      count.push_back(std::min(chunk_[d], box.count[d] - first[d]));
      whole &= count[d] == chunk_[d];
    }
    bytes.resize(chunk_bytes);
    if (!whole) fill_elements(bytes, fill_);
    const auto row = static_cast<std::size_t>(count.back() * width());
    const std::vector<Count> rows(count.begin(), count.end() - 1);
    each_index(rows, [&](std::vector<Count> at) {
      at.push_back(0);
      const auto to = static_cast<std::size_t>(flat_index(chunk_, at) * width());
      for (std::size_t d = 0; d < at.size(); ++d) at[d] += first[d];
      const auto from = static_cast<std::size_t>(flat_index(box.count, at) * width());
      std::memcpy(bytes.data() + to, data.data() + from, row);
    });
    write_at(fd, places_[static_cast<std::size_t>(flat_index(grid, in_grid))], bytes, path);
  });
}

void PlacedValues::print(std::vector<std::byte>& into) const {
  for (const auto* list : {&places_, &extents_, &chunk_}) put_list(into, std::span(*list));
  put_list(into, std::span(fill_));
}

PlacedValues PlacedValues::parse(std::span<const std::byte>& from) {
  PlacedValues values;
  for (auto* list : {&values.places_, &values.extents_, &values.chunk_})
    *list = take_list<Count>(from);
  values.fill_ = take_list<std::byte>(from);
  return values;
}

}  // namespace forebay::tools
