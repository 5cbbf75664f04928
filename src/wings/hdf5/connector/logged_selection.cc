#include "hdf5/connector/logged_selection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

// Longer lists of blocks are processed run by run, because HDF5 returns whole lists.
constexpr hssize_t most_blocks = 1 << 20;

/// First coordinates of a selection after H5Soffset_simple. HDF5's queries of hyperslabs and points
/// ignore that offset.
using First = std::array<hsize_t, H5S_MAX_RANK>;

First check_inside(hid_t space, std::span<const Count> extents) {
  First low{}, high{};
  const int rank = checked(H5Sget_simple_extent_ndims(space), "asking for a space's rank");
  if (static_cast<std::size_t>(rank) != extents.size())
    throw Error(Errc::einval, "a dataspace of " + std::to_string(rank) + " dimensions for " +
                                  std::to_string(extents.size()));
  if (H5Sget_select_bounds(space, low.data(), high.data()) < 0)
    throw Error(Errc::einvalcoords, "the offset of a selection moves it to negative coordinates",
                "see H5Soffset_simple");
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (high[d] >= static_cast<hsize_t>(extents[d]))
      throw Error(Errc::einvalcoords,
                  "the selection reaches index " + std::to_string(high[d]) + " of dimension " +
                      std::to_string(d) + ", which has " + std::to_string(extents[d]),
                  "H5Dset_extent makes a dataset larger");
  return low;
}

/// Moves points, `rank` coordinates each, so that their least coordinates become `first`.
void move_to(const First& first, std::size_t rank, std::span<hsize_t> points) {
  First least;
  least.fill(HSIZE_UNDEF);
  for (std::size_t i = 0; i < points.size(); i += rank)
    for (std::size_t d = 0; d < rank; ++d) least[d] = std::min(least[d], points[i + d]);
  if (std::equal(least.begin(), least.begin() + static_cast<long>(rank), first.begin())) return;
  for (std::size_t i = 0; i < points.size(); i += rank)
    for (std::size_t d = 0; d < rank; ++d) points[i + d] += first[d] - least[d];
}

/// A regular hyperslab without gaps between its blocks' elements is a box.
std::optional<Placed> box_of(hid_t space, std::span<const Count> extents, const First& first) {
  if (checked(H5Sis_regular_hyperslab(space), "asking about a hyperslab") <= 0) return std::nullopt;
  std::array<hsize_t, H5S_MAX_RANK> start{}, stride{}, count{}, block{};
  checked(H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()),
          "asking for a hyperslab");
  std::vector<Steps> steps(extents.size());
  for (std::size_t d = 0; d < extents.size(); ++d) {
    steps[d].start = static_cast<Count>(first[d]);
    if (block[d] == 1)
      steps[d].count = static_cast<Count>(count[d]),
      steps[d].stride = static_cast<Count>(stride[d]);
    else if (count[d] == 1 || stride[d] == block[d])
      steps[d].count = static_cast<Count>(count[d] * block[d]);
    else
      return std::nullopt;
  }
  return box_pattern(extents, steps);
}

std::optional<Placed> blocks_of(hid_t space, std::span<const Count> extents, const First& first) {
  const hssize_t n = H5Sget_select_hyper_nblocks(space);
  if (n <= 0 || n > most_blocks) return std::nullopt;
  std::vector<hsize_t> blocks(static_cast<std::size_t>(n) * 2 * extents.size());
  checked(H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(n), blocks.data()),
          "asking for a selection's blocks");
  move_to(first, extents.size(),
          blocks);  // first and last coordinates of each block: the least are first ones
  static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));
  return blocks_pattern(extents,
                        {reinterpret_cast<const std::uint64_t*>(blocks.data()), blocks.size()});
}

Placed runs_of(hid_t space) {
  // The iterator's offsets are flattened by the extents of the space itself, which a program may
  // have made before H5Dset_extent.
  const auto extents = extents_of(space).now;
  SelectionRuns selection(space);
  std::vector<Run> runs;
  for (auto some = selection.next(INT64_MAX); !some.empty(); some = selection.next(INT64_MAX))
    runs.insert(runs.end(), some.begin(), some.end());
  return runs_pattern(extents, runs);
}

FileSelection points_of(hid_t space, std::span<const Count> extents, const First& first) {
  const auto n = static_cast<std::size_t>(
      checked(H5Sget_select_elem_npoints(space), "counting selected points"));
  std::vector<hsize_t> points(n * extents.size());
  checked(H5Sget_select_elem_pointlist(space, 0, n, points.data()), "asking for selected points");
  move_to(first, extents.size(), points);
  std::vector<Offset> flat(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < extents.size(); ++d)
      flat[i] = flat[i] * extents[d] + static_cast<Offset>(points[i * extents.size() + d]);
  std::vector<Offset> sorted = flat;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<Run> runs;
  for (const Offset at : sorted)
    if (!runs.empty() && runs.back().offset + runs.back().length == at)
      ++runs.back().length;
    else
      runs.push_back({at, 1});
  FileSelection selection;
  selection.elements = static_cast<Count>(n);
  selection.placed = runs_pattern(extents, runs);
  selection.order.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    selection.order[i] = std::lower_bound(sorted.begin(), sorted.end(), flat[i]) - sorted.begin();
  if (sorted.size() == n && std::is_sorted(selection.order.begin(), selection.order.end()))
    selection.order.clear();
  return selection;
}

/// As in HDF5, a dataspace that was never given extents selects nothing, and is an error.
void check_extent(hid_t space) {
  if (space == H5S_ALL || space == H5S_BLOCK) return;
  if (H5Sget_simple_extent_type(space) == H5S_SIMPLE && H5Sget_simple_extent_ndims(space) == 0)
    throw Error(Errc::einval, "a dataspace has no extents", "see H5Sset_extent_simple");
}

}  // namespace

SelectionRuns::SelectionRuns(hid_t space)
    : iterator_(owned(H5Ssel_iter_create(space, 1, H5S_SEL_ITER_SHARE_WITH_DATASPACE),
                      "walking through a selection")),
      lengths_(batch),
      offsets_(batch) {}

std::span<const Run> SelectionRuns::next(Count elements) {
  std::size_t runs = 0, bytes = 0;
  checked(H5Ssel_iter_get_seq_list(iterator_, batch, static_cast<std::size_t>(elements), &runs,
                                   &bytes, offsets_.data(), lengths_.data()),
          "walking through a selection");
  runs_.resize(runs);
  for (std::size_t i = 0; i < runs; ++i)
    runs_[i] = {static_cast<Offset>(offsets_[i]), static_cast<Count>(lengths_[i])};
  return runs_;
}

FileSelection file_selection(hid_t space, std::span<const Count> extents) {
  FileSelection selection;
  selection.elements = checked(H5Sget_select_npoints(space), "counting selected elements");
  if (selection.elements == 0) return selection;
  const First first = check_inside(space, extents);
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_POINTS:
      return points_of(space, extents, first);
    case H5S_SEL_ALL: {
      const auto own = extents_of(space).now;
      selection.placed = box_pattern(extents, Subarray{Counts(own.size()), own, {}});
      return selection;
    }
    default:
      break;
  }
  auto placed = box_of(space, extents, first);
  if (!placed) placed = blocks_of(space, extents, first);
  // HDF5 1.14.5 may describe a union by its first block alone. Its iterator, which moves the data,
  // has all blocks.
  if (!placed || placed->pattern.elements() != selection.elements) placed = runs_of(space);
  selection.placed = std::move(*placed);
  return selection;
}

Offset contiguous_begin(hid_t space, Count elements) {
  SelectionRuns selection(space);
  const auto runs = selection.next(elements);
  if (runs.empty() || runs[0].length != elements) return -1;
  return runs[0].offset;
}

LoggedTransfer resolve_transfer(const std::vector<Count>& extents,
                                const std::function<Hdf5Id()>& make_space, hid_t memory_space,
                                hid_t file_space, const void* buffer) {
  if (file_space == H5S_PLIST || memory_space == H5S_PLIST)
    throw Error(Errc::enotsupport, "selections in a transfer property list cannot be logged",
                "give the selection as a dataspace, or set layout=canonical in FOREBAY_HINTS");
  LoggedTransfer transfer;
  if (file_space == H5S_ALL || file_space == H5S_BLOCK) {
    transfer.own = make_space();
    file_space = transfer.own;
  }
  transfer.file = file_selection(file_space, extents);
  transfer.memory_space = memory_space == H5S_ALL ? file_space : memory_space;
  if (memory_space != H5S_BLOCK && memory_space != H5S_ALL) {
    const hssize_t n = H5Sget_select_npoints(memory_space);
    if (n != transfer.file.elements)
      throw Error(Errc::einval, "memory selects " + std::to_string(n) + " elements, the file " +
                                    std::to_string(transfer.file.elements));
    if (n > 0 && H5Sselect_valid(memory_space) <= 0)
      throw Error(Errc::einvalcoords, "the selection in memory lies outside of its dataspace");
  }
  if (transfer.file.elements == 0) {
    check_extent(file_space);
    check_extent(memory_space);
  }
  if (buffer == nullptr && transfer.file.elements > 0)
    throw Error(Errc::einval, "there is no buffer for " + std::to_string(transfer.file.elements) +
                                  " selected elements");
  return transfer;
}

void put_in_order(std::span<const std::byte> given, std::span<const Count> order, std::size_t size,
                  std::span<std::byte> out) {
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(&out[static_cast<std::size_t>(order[i]) * size], &given[i * size], size);
}

}  // namespace forebay::vol
