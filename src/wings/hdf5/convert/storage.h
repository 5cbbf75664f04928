// Turns the method of a conversion (layout, codec, chunk_bytes) into creation properties of an HDF5
// dataset. Only HDF5's own filters are used, since every reader has them.
#pragma once

#include <string>
#include <vector>

#include "array/schema.h"
#include "hdf5/files/handle.h"
#include "method/method.h"

namespace forebay::tools {

/// The part of a method that concerns HDF5 files.
class Hdf5Storage {
 public:
  explicit Hdf5Storage(const Method& method);

  /// Returns whether the method changes how a dataset is stored.
  bool asks() const { return layout_given_ || codec_given_ || chunk_bytes_ > 0; }

  /// Sets layout, chunks and filters in `creation`, for a dataset called `name` with elements of
  /// `width` bytes. What the method does not say stays as it is. Datasets that can grow get chunks.
  /// Errc::enotsupport for a codec that is not one of HDF5's own filters.
  void apply(hid_t creation, const std::string& name, const Extents& extents, Count width) const;

 private:
  std::vector<Count> chunk_shape(const Extents& extents, Count width,
                                 const std::vector<Count>& chunks) const;

  Method method_;
  bool layout_given_ = false, codec_given_ = false;
  Count chunk_bytes_ = 0;  // 0: not given
};

/// Returns file access properties for a new file, in the format of HDF5 1.8, which all readers
/// know.
Hdf5Id new_file_access();

/// Opens a dataset with a cache of so many bytes for its chunks.
Hdf5Id open_with_cache(hid_t file, const std::string& path, std::size_t cache);

/// Syncs a closed file to the device.
void sync_file(const std::string& path);

}  // namespace forebay::tools
