// Writes values of datasets with allocated space in an HDF5 file, past HDF5. Any rank may write its
// pieces, and a serial HDF5 suffices. For contiguous datasets, and for chunks without a filter.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "array/selection.h"
#include "base/types.h"
#include "hdf5/files/handle.h"

namespace forebay::tools {

class PlacedValues {
 public:
  /// A dataset that HDF5 writes.
  PlacedValues() = default;
  /// A dataset with allocated space (prepare_direct_copy) and no values yet. `width` is the size of
  /// an element, whose memory type is that of the file. `fill` is one element, for the parts of its
  /// last chunks beyond the extents.
  PlacedValues(hid_t dataset, hid_t creation, const std::vector<Count>& extents,
               std::vector<std::byte> fill);

  bool is_placed() const { return !places_.empty(); }
  /// Local. Writes a box to the file open as `fd`. Boxes of chunked datasets are whole chunks, up
  /// to the extents.
  void write(int fd, const std::string& path, const Subarray& box,
             std::span<const std::byte> data) const;

  // Converts to and from bytes, to tell other ranks.
  void print(std::vector<std::byte>& into) const;
  static PlacedValues parse(std::span<const std::byte>& from);

 private:
  void write_rows(int fd, const std::string& path, const Subarray& box,
                  std::span<const std::byte> data) const;
  void write_chunks(int fd, const std::string& path, const Subarray& box,
                    std::span<const std::byte> data) const;
  Count width() const { return std::ssize(fill_); }

  std::vector<Count> extents_, chunk_;  // chunk_ is empty if contiguous
  std::vector<std::byte> fill_;
  std::vector<Offset> places_;  // of the dataset, or of its chunks in row-major order
};

}  // namespace forebay::tools
