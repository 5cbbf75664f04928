// Values of contiguous datasets, copied into a file whose space is allotted already: each rank
// reads boxes through the view and writes them where they belong, past HDF5. A serial HDF5 is
// enough for it, and nothing is copied in between.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "files/hdf5/view.h"

namespace forebay::tools {

/// Whether a dataset with these creation properties can be written that way, and is large enough
/// to be worth it. Elements must be plain bytes.
bool fits_direct_copy(hid_t creation, const Extents& extents, Count width);

/// The same of chunks without a filter. Not where the dataset can grow: what is not written then
/// has to be filled by whoever lets it grow.
bool fits_placed_chunks(hid_t creation, const Extents& extents, Count width);

/// Creation properties that allot the space at once and leave it as it is: every byte of it is
/// written afterwards.
void prepare_direct_copy(hid_t creation);

struct DirectCopyOptions {
  bool verify = false;  ///< read the values again and compare
  /// Told step, bytes done by all ranks (as far as this one knows) and all bytes; may be empty.
  std::function<void(const char*, Count, Count)> progress;
};

/// Collective; ranks may have no share. Copies the datasets at `paths`, which the output has with
/// their types and shapes and with space in the file; it was closed. Each rank has the input open.
/// Returns bytes of values, of all ranks. Errc as reading and writing have it, Errc::eio where
/// verification finds other values.
Count copy_direct(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                  const std::vector<std::string>& paths, const DirectCopyOptions& options);

}  // namespace forebay::tools
