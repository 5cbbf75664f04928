// Copies values of contiguous datasets into a file with allocated space. Each rank reads boxes
// through the view, and writes them to their places past HDF5. A serial HDF5 suffices, and there
// are no intermediate copies.
#pragma once

#include <string>
#include <vector>

#include "comm/comm.h"
#include "hdf5/convert/copy.h"
#include "hdf5/files/view.h"

namespace forebay::tools {

/// Returns whether a dataset is large enough that all ranks copy a part of it.
bool is_worth_sharing(const Extents& extents, Count width);

/// Returns whether a dataset with these creation properties can be written that way, and is large
/// enough to benefit. Elements must be plain bytes.
bool fits_direct_copy(hid_t creation, const Extents& extents, Count width);

/// Sets creation properties to allocate the space early and not fill it, as every byte is written
/// later.
void prepare_direct_copy(hid_t creation);

/// Collective; ranks may have no share. Copies the datasets at `paths`. The output has them, with
/// their types, shapes and space, and must be closed. Each rank has the input open. Returns the
/// bytes of values over all ranks. Progress counts the bytes of all ranks, as far as known here.
/// Errors are those of reading and writing, and Errc::eio if verification finds other values.
Count copy_direct(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                  const std::vector<std::string>& paths, const Hdf5CopyOptions& options);

}  // namespace forebay::tools
