// Writes values from a log into a dataset of the connector below.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "comm/comm.h"
#include "hdf5/connector/under.h"

namespace forebay::vol {

/// The dataset that gets the values.
struct NativeDataset {
  UnderObject dataset;
  hid_t type;                  ///< of its elements in the file
  std::vector<Count> extents;  ///< at least one extent, none 0
  std::vector<Count> chunk;    ///< empty if it is contiguous
  Count element_size = 1;
  bool filtered = false;
};

/// Overwrites `values`, packed elements of a box, with the log's values. Returns whether there are
/// any; other boxes are not written.
using GetValues = std::function<bool(const Placed& box, std::span<std::byte> values)>;

/// Values are written in boxes of about so many bytes. Each has whole chunks, or a part of one row
/// of chunks.
constexpr Count native_box_bytes = 8 << 20;

/// Collective over `comm`: the ranks share the boxes. Transfers are collective if HDF5 needs it
/// (filters); otherwise each rank writes by itself. What `get` throws on one rank is thrown on all,
/// after the other ranks' writes. Errc::ehdferr.
void write_native(const Comm& comm, const NativeDataset& to, const GetValues& get);

}  // namespace forebay::vol
