// HDF5's filter 32015, zstd, for which HDF5 itself has a plug-in at most. With it, files with codec
// zstd are read, and copied, wherever this program is.
#pragma once

namespace forebay {

/// Makes the filter known to HDF5, in the place of a plug-in.
void register_zstd_filter();

}  // namespace forebay
