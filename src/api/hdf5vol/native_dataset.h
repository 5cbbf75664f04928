// Writing values out of a log into a dataset of the connector below.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "api/hdf5vol/under.h"
#include "array/pattern.h"
#include "comm/comm.h"

namespace forebay::vol {

/// Where values go.
struct NativeDataset {
  UnderObject dataset;
  hid_t type;                  ///< of its elements in the file
  std::vector<Count> extents;  ///< at least one, none 0
  std::vector<hsize_t> chunk;  ///< empty where it is contiguous
  Count element_size = 1;
  bool filtered = false;
  bool blanks = true;  ///< also what was never written, as HDF5 would hand out anything there
};

/// Overwrites `values`, packed elements of a box, with what the log has; true if it has any.
using GetValues = std::function<bool(const Placed& box, std::span<std::byte> values)>;

/// Boxes of about 8 MiB that cover a dataset once, each of whole chunks, or a part of one row of
/// chunks.
class Tiles {
 public:
  /// `extents` at least one, none 0; `chunk` empty where there are none.
  Tiles(std::span<const Count> extents, Count element_size, std::span<const hsize_t> chunk);
  Count size() const { return size_; }
  std::vector<Steps> box(Count n) const;

 private:
  std::vector<Count> extents_, shape_, counts_;
  Count size_ = 1;
};

/// Collective over `comm`: the ranks share the boxes. Collective transfers where HDF5 asks for them
/// (filters), else each rank by itself. What `get` throws on one rank is thrown on all, after the
/// others' writes. Errc::ehdferr.
void write_native(const Comm& comm, const NativeDataset& to, const GetValues& get);

}  // namespace forebay::vol
