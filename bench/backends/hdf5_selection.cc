#include "backends/hdf5_selection.h"

#include <algorithm>
#include <array>
#include <vector>

namespace forebay::bench {
namespace {

// So many boxes are added one by one: a dataspace costs more than they do.
constexpr int kBoxesOfLeaf = 8;

void add_box(hid_t space, H5S_seloper_t operation, const BoxList& boxes, int k) {
  std::array<hsize_t, H5S_MAX_RANK> start{};
  std::array<hsize_t, H5S_MAX_RANK> count{};
  std::copy_n(boxes.starts[k], boxes.rank, start.begin());
  std::copy_n(boxes.counts[k], boxes.rank, count.begin());
  hdf5_check(H5Sselect_hyperslab(space, operation, start.data(), nullptr, count.data(), nullptr),
             "selection");
}

}  // namespace

Hdf5Id select_union(hid_t extent, const BoxList& boxes) {
  struct Part {
    Hdf5Id space;
    int leaves;
  };
  std::vector<Part> parts;  // of falling size, as the digits of a binary counter
  const auto join_last = [&] {
    Part last = std::move(parts.back());
    parts.pop_back();
    hdf5_check(H5Smodify_select(parts.back().space, H5S_SELECT_OR, last.space), "union");
    parts.back().leaves += last.leaves;
  };
  for (int k = 0; k < boxes.count;) {
    Hdf5Id leaf(H5Scopy(extent), H5Sclose, "space");
    const int end = std::min(boxes.count, k + kBoxesOfLeaf);
    for (bool first = true; k < end; ++k, first = false) {
      add_box(leaf, first ? H5S_SELECT_SET : H5S_SELECT_OR, boxes, k);
    }
    parts.push_back({std::move(leaf), 1});
    while (parts.size() > 1 && parts[parts.size() - 2].leaves == parts.back().leaves) join_last();
  }
  while (parts.size() > 1) join_last();
  if (!parts.empty()) return std::move(parts.front().space);
  Hdf5Id none(H5Scopy(extent), H5Sclose, "space");
  hdf5_check(H5Sselect_none(none), "selection");
  return none;
}

}  // namespace forebay::bench
