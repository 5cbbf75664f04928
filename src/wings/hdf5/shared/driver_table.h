// The table of functions of one of HDF5's file drivers. It is HDF5's own copy, to which every open
// file of that driver points.
#pragma once

#include <hdf5.h>

#include "base/types.h"
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace forebay {

/// Local, but collective for a list with MPI-IO and more than one process. Returns the table of the
/// driver in a file access list. Errc::ehdferr if it cannot open an ordinary file alone.
H5FD_class_t& driver_table(hid_t fapl);

/// During its lifetime, files with a masked signature (base/hdf5_signature.h) can be opened by that
/// driver: a read at its place gets HDF5's signature. One at a time.
class UnmaskedReading {
 public:
  UnmaskedReading(hid_t fapl, Offset place);
  ~UnmaskedReading();
  UnmaskedReading(const UnmaskedReading&) = delete;
  UnmaskedReading& operator=(const UnmaskedReading&) = delete;
};

}  // namespace forebay
