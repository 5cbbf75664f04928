// Values of datasets that have their space in an HDF5 file already, written past HDF5: any rank
// may write its pieces, and a serial HDF5 is enough for it. Contiguous datasets, and chunks without
// a filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "array/selection.h"
#include "base/types.h"
#include "files/hdf5/handle.h"

namespace forebay::tools {

class PlacedValues {
 public:
  /// HDF5 writes it.
  PlacedValues() = default;
  /// A dataset whose space is allotted (prepare_direct_copy) and that was not written to. `width`:
  /// bytes of an element, whose type in memory is that of the file. `fill`: one element, which is
  /// beyond the dataset's extents in its last chunks.
  PlacedValues(hid_t dataset, hid_t creation, const std::vector<Count>& extents,
               std::vector<std::byte> fill);

  bool is_placed() const { return !places_.empty(); }
  /// Local. Writes a box to the file that is open as `fd`; of chunks whole ones, up to the extents.
  void write(int fd, const std::string& path, const Subarray& box,
             std::span<const std::byte> data) const;

  // As numbers, to tell other ranks.
  void print(std::vector<std::int64_t>& into) const;
  static PlacedValues parse(std::span<const std::int64_t>& from);

 private:
  void write_rows(int fd, const std::string& path, const Subarray& box,
                  std::span<const std::byte> data) const;
  void write_chunks(int fd, const std::string& path, const Subarray& box,
                    std::span<const std::byte> data) const;
  Count width() const { return std::ssize(fill_); }

  std::vector<Count> extents_, chunk_;  // no chunk_: contiguous
  std::vector<std::byte> fill_;
  std::vector<Offset> places_;  // of the dataset, or of its chunks in row-major order
};

}  // namespace forebay::tools
