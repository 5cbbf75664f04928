// Copies a whole HDF5 file, object by object: groups, datasets of any type, committed types,
// attributes, hard, soft and external links, references. Names, order of creation, types and values
// stay; how datasets are stored may change.
//
// The input is seen through an Hdf5View, so that files whose datasets stand for data elsewhere come
// out as ordinary ones.
#pragma once

#include <functional>
#include <string>

#include "comm/comm.h"
#include "files/hdf5/view.h"
#include "method/method.h"

namespace forebay::tools {

struct Hdf5CopyOptions {
  HintMap keys;         ///< of the method: layout, codec, chunk_bytes; none: stored as they were
  bool verify = false;  ///< read the values again and compare
  Count block_bytes = 8 << 20;  ///< of values in memory at once, but at least one chunk
  /// Told step ("convert", "verify"), bytes done and all bytes; may be empty.
  std::function<void(const char*, Count, Count)> progress;
};

struct Hdf5CopyResult {
  Count datasets = 0, bytes = 0;
  Count verified =
      0;  ///< datasets that were read again and are equal; those of varying length are not
};

/// Collective. Copies `in` to `out`, which must not exist, and brings it to the device. Rank 0
/// makes the file and copies what has chunks or parts elsewhere; then all ranks copy contiguous
/// datasets, a part each. Results are rank 0's. Throws on every rank, with the path of the object
/// that could not be copied; then `out` is of no use.
Hdf5CopyResult copy_hdf5(const Comm& comm, const std::string& in, const std::string& out,
                         const Hdf5CopyOptions& options);

/// The same for a file that each rank has open, and a view of it.
Hdf5CopyResult copy_hdf5(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                         const Hdf5CopyOptions& options);

}  // namespace forebay::tools
