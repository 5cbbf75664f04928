// With compact=close a log file becomes an ordinary HDF5 file when it is closed. Until then its
// datasets have their own layout but no values, and native HDF5 would read zeros. So until then the
// signature of HDF5's superblock is masked, and native HDF5 does not accept the file. Readers of
// the log see the right signature (hdf5/shared/driver_table.h).
#pragma once

#include <optional>
#include <string>

#include "base/types.h"

namespace forebay::logged {

/// Local. Returns where the signature of a file is masked; nothing for any other file, or none.
std::optional<Offset> find_masked_signature(const std::string& path);

/// Local. Restores HDF5's signature there. For a file whose job was killed when only this step was
/// left. Does nothing if the file cannot be written: readers manage without.
void restore_signature(const std::string& path, Offset place) noexcept;

}  // namespace forebay::logged
