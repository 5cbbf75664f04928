// Copies values of chunked datasets. All ranks read and encode chunks of the output. Rank 0's HDF5
// gives each its place, and the rank that has it writes it there. A serial HDF5 suffices, and no
// values go from rank to rank.
#pragma once

#include <string>
#include <vector>

#include "comm/comm.h"
#include "hdf5/convert/copy.h"
#include "hdf5/files/view.h"

namespace forebay::tools {

/// Returns whether a dataset with these creation properties can be copied that way, and is large
/// enough to benefit. Elements must be plain bytes. Filters that are plug-ins are not run: some
/// make other parameters of those that a file has.
bool fits_chunk_copy(hid_t creation, const Extents& extents, Count width);

/// Collective; ranks may have no share. Copies the datasets at `paths`. The output has them, with
/// their types, shapes, chunks and filters, but no values, and must be closed. Each rank has the
/// input open. Memory: `options.block_bytes`, but at least one chunk, for a few blocks; to verify,
/// 8 bytes for each of the rank's chunks. Returns the bytes of values over all ranks. Errors are
/// those of reading and writing, and Errc::eio if verification finds other values.
Count copy_chunks(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                  const std::vector<std::string>& paths, const Hdf5CopyOptions& options);

}  // namespace forebay::tools
