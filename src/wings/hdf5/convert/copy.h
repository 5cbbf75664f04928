// Copies a whole HDF5 file, object by object: groups, datasets of any type, committed types,
// attributes, hard, soft and external links, references. Names, order of creation, types and values
// stay. The storage of datasets may change.
//
// The input is read through an Hdf5View. So files whose datasets stand for data elsewhere become
// ordinary ones.
#pragma once

#include <functional>
#include <string>

#include "comm/comm.h"
#include "hdf5/files/view.h"
#include "method/method.h"
#include "tools/convert/convert_file.h"

namespace forebay::tools {

struct Hdf5CopyOptions {
  Method method;                ///< layout, codec, chunk_bytes; if not given, as in the input
  bool verify = false;          ///< read the values again and compare
  Count block_bytes = 8 << 20;  ///< values in memory at once, but at least one chunk
  /// Called with the step ("convert", "verify"), bytes done and their total; may be empty.
  std::function<void(const char*, Count, Count)> progress;
};

/// Collective. Copies `in`, which each rank has open, to `out`, which must not exist, and writes it
/// to the device. Rank 0 makes the file, and copies datasets that are small or have parts
/// elsewhere. Then each rank copies a part of the others. Rank 0 has the results: variables (that
/// is, datasets), bytes, and verified, which leaves out types of varying length. Errors are thrown
/// on every rank, with the path of the object; `out` is useless then.
ConvertResult copy_hdf5(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                        const Hdf5CopyOptions& options);

}  // namespace forebay::tools
