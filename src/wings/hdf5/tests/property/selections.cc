#include "selections.h"

#include <algorithm>

namespace forebay_test {
namespace {

hsize_t some(Rng& rng, hsize_t low, hsize_t high) {
  return static_cast<hsize_t>(rng.between(static_cast<int64_t>(low), static_cast<int64_t>(high)));
}

// Combines a hyperslab within `region` with the selection of `space`.
void add_hyperslab(Rng& rng, hid_t space, H5S_seloper_t operation, const Region& region,
                   bool regular) {
  const size_t rank = region.low.size();
  std::vector<hsize_t> start(rank), stride(rank, 1), count(rank), block(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const hsize_t length = region.high[d] - region.low[d];
    if (!regular) {
      count[d] = some(rng, 1, length);
      start[d] = region.low[d] + some(rng, 0, length - count[d]);
      continue;
    }
    block[d] = some(rng, 1, std::min<hsize_t>(3, length));
    stride[d] = block[d] + some(rng, 0, 3);
    const hsize_t most = (length - block[d]) / stride[d] + 1;
    count[d] = some(rng, 1, most);
    const hsize_t taken = (count[d] - 1) * stride[d] + block[d];
    start[d] = region.low[d] + some(rng, 0, length - taken);
  }
  check(H5Sselect_hyperslab(space, operation, start.data(), stride.data(), count.data(),
                            block.data()),
        "H5Sselect_hyperslab");
}

void select_points(Rng& rng, hid_t space, const Region& region, bool repeats) {
  const size_t rank = region.low.size();
  std::vector<std::vector<hsize_t>> points(static_cast<size_t>(rng.between(1, 12)));
  for (auto& point : points) {
    for (size_t d = 0; d < rank; ++d) point.push_back(some(rng, region.low[d], region.high[d] - 1));
  }
  if (!repeats) {
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    for (size_t k = points.size(); k > 1; --k) {
      std::swap(points[k - 1], points[static_cast<size_t>(rng.below(static_cast<int64_t>(k)))]);
    }
  }
  std::vector<hsize_t> flat;
  for (const auto& point : points) flat.insert(flat.end(), point.begin(), point.end());
  check(H5Sselect_elements(space, H5S_SELECT_SET, points.size(), flat.data()),
        "H5Sselect_elements");
}

// Where a selection must lie before H5Soffset_simple moves it into `region`.
Region before_offset(Rng& rng, const Region& region, std::vector<hssize_t>& offset) {
  Region moved = region;
  for (size_t d = 0; d < region.low.size(); ++d) {
    const auto low = static_cast<int64_t>(region.low[d]);
    offset.push_back(rng.between(0, std::min<int64_t>(low, 4)));
    moved.low[d] -= static_cast<hsize_t>(offset[d]);
    moved.high[d] -= static_cast<hsize_t>(offset[d]);
  }
  return moved;
}

// HDF5 1.14.5 combines some hyperslabs to selections of another number of elements than its own
// list of their blocks has; what a transfer moves then is anybody's guess.
void check_count(hid_t space) {
  if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS) return;
  const size_t rank = extent_of(space).size();
  const auto count =
      static_cast<size_t>(check(H5Sget_select_hyper_nblocks(space), "H5Sget_select_hyper_nblocks"));
  std::vector<hsize_t> blocks(count * 2 * rank);
  check(H5Sget_select_hyper_blocklist(space, 0, count, blocks.data()),
        "H5Sget_select_hyper_blocklist");
  hsize_t elements = 0;
  for (size_t k = 0; k < count; ++k) {
    const hsize_t* low = &blocks[k * 2 * rank];
    hsize_t of_block = 1;
    for (size_t d = 0; d < rank; ++d) of_block *= low[rank + d] - low[d] + 1;
    elements += of_block;
  }
  const auto said = static_cast<hsize_t>(H5Sget_select_npoints(space));
  if (said != elements) {
    note_fault("H5Sselect_hyperslab", "a selection of " + std::to_string(elements) +
                                          " elements that has " + std::to_string(said));
  }
}

void select(Rng& rng, hid_t space, const Region& region, Points points) {
  switch (rng.below(5)) {
    case 0:
      return add_hyperslab(rng, space, H5S_SELECT_SET, region, false);
    case 1:
      return add_hyperslab(rng, space, H5S_SELECT_SET, region, true);
    case 2:
      return select_points(rng, space, region, points == Points::Repeated);
    default: {
      add_hyperslab(rng, space, H5S_SELECT_SET, region, rng.one_in(2));
      const H5S_seloper_t operations[] = {H5S_SELECT_OR, H5S_SELECT_OR, H5S_SELECT_XOR,
                                          H5S_SELECT_NOTB, H5S_SELECT_AND};
      for (int64_t k = rng.between(1, 5); k > 0; --k) {
        add_hyperslab(rng, space, operations[rng.below(5)], region, rng.one_in(2));
      }
    }
  }
}

}  // namespace

Region all_of(const std::vector<hsize_t>& dims) {
  return {std::vector<hsize_t>(dims.size(), 0), dims};
}

bool is_empty(const Region& region) {
  for (size_t d = 0; d < region.low.size(); ++d) {
    if (region.low[d] >= region.high[d]) return true;
  }
  return false;
}

Id random_selection(Rng& rng, const std::vector<hsize_t>& dims, const Region& region,
                    Points points) {
  Id space = simple_space(dims);
  if (is_empty(region) || region.low.size() != dims.size() || rng.one_in(12)) {
    check(H5Sselect_none(space), "H5Sselect_none");
    return space;
  }
  if (dims.empty()) return space;  // a scalar: all or nothing
  if (!rng.one_in(6)) {
    select(rng, space, region, points);
    check_count(space);
    return space;
  }
  std::vector<hssize_t> offset;
  add_hyperslab(rng, space, H5S_SELECT_SET, before_offset(rng, region, offset), rng.one_in(2));
  check(H5Soffset_simple(space, offset.data()), "H5Soffset_simple");
  return space;
}

Id random_memory(Rng& rng, hsize_t count) {
  if (count == 0) {
    Id space = simple_space({static_cast<hsize_t>(rng.between(1, 3))});
    check(H5Sselect_none(space), "H5Sselect_none");
    return space;
  }
  const int64_t kind = rng.below(4);
  if (kind == 1) {  // a row with gaps
    const hsize_t stride = some(rng, 2, 3), start = some(rng, 0, 2);
    Id space = simple_space({start + stride * count});
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &count, nullptr),
          "H5Sselect_hyperslab");
    return space;
  }
  if (kind == 2 && count % 2 == 0) {  // two rows of a plane
    const hsize_t start[] = {1, some(rng, 0, 2)}, size[] = {2, count / 2};
    Id space = simple_space({4, count / 2 + 3});
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, size, nullptr),
          "H5Sselect_hyperslab");
    return space;
  }
  if (kind == 3 && count < 200) {  // the elements in disorder
    std::vector<hsize_t> order(count);
    for (hsize_t k = 0; k < count; ++k) order[k] = k;
    for (hsize_t k = count; k > 1; --k) std::swap(order[k - 1], order[some(rng, 0, k - 1)]);
    Id space = simple_space({count});
    check(H5Sselect_elements(space, H5S_SELECT_SET, count, order.data()), "H5Sselect_elements");
    return space;
  }
  return simple_space({count});
}

std::vector<Region> random_slabs(Rng& rng, const std::vector<hsize_t>& dims, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  if (dims.empty()) {
    // A region with a dimension that a scalar does not have belongs to nobody.
    std::vector<Region> slabs(n, Region{{0}, {0}});
    slabs[static_cast<size_t>(rng.below(ranks))] = {};
    return slabs;
  }
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  std::vector<hsize_t> cuts{0, dims[axis]};
  for (size_t k = 1; k < n; ++k) cuts.push_back(some(rng, 0, dims[axis]));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Region> slabs(n, all_of(dims));
  for (size_t k = 0; k < n; ++k) {
    slabs[k].low[axis] = cuts[k];
    slabs[k].high[axis] = cuts[k + 1];
  }
  return slabs;
}

}  // namespace forebay_test
