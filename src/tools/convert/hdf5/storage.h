// How the method of a conversion (layout, codec, chunk_bytes) becomes the creation properties of an
// HDF5 dataset. HDF5's own filters are all that is used: every reader has them.
#pragma once

#include <string>
#include <vector>

#include "array/schema.h"
#include "files/hdf5/handle.h"
#include "method/method.h"

namespace forebay::tools {

/// The keys of --method that say something of HDF5 files.
class Hdf5Storage {
 public:
  /// `keys`: checked ones.
  explicit Hdf5Storage(const HintMap& keys);

  /// Whether anything was asked for that changes how a dataset is stored.
  bool asks() const { return layout_given_ || codec_given_ || chunk_bytes_ > 0; }

  /// Sets layout, chunks and filters in `creation` for a dataset called `name` with elements of
  /// `width` bytes; what was not asked for stays as it is. Datasets that can grow get chunks.
  /// `chunks`: the shape to use where none is asked for; empty: chosen. Errc::enotsupport for a
  /// codec that is none of HDF5's own filters.
  void apply(hid_t creation, const std::string& name, const Extents& extents, Count width,
             const std::vector<Count>& chunks = {}) const;

  /// Adds the filters of a pipeline such as "shuffle,deflate:4" to `creation`.
  static void add_filters(hid_t creation, const std::string& codec, const std::string& name);

 private:
  std::vector<Count> chunk_shape(const Extents& extents, Count width,
                                 const std::vector<Count>& chunks) const;

  Method method_;
  bool layout_given_ = false, codec_given_ = false;
  Count chunk_bytes_ = 0;  // 0: not given
};

/// The chunk shape of creation properties; empty if there are no chunks.
std::vector<Count> chunk_shape_of(hid_t creation, std::size_t rank);

/// File access properties for a new file: the format of HDF5 1.8, which all readers know.
Hdf5Id new_file_access();

/// Brings what was written to a file to the device. `path` of a closed file.
void sync_file(const std::string& path);

}  // namespace forebay::tools
