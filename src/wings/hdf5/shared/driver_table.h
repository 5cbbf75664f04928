// The table of functions of one of HDF5's file drivers. It is HDF5's own copy, to which every open
// file of that driver points.
#pragma once

#include <hdf5.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "base/types.h"

namespace forebay {

/// Local, but collective for a list with MPI-IO and more than one process. Returns the table of the
/// driver in a file access list. Errc::ehdferr if it cannot open an ordinary file alone.
H5FD_class_t& driver_table(hid_t fapl);

/// While it lives, a write of HDF5's from a certain buffer, through the driver of a table, does not
/// reach the file: take_place() tells where it would have gone. So HDF5 gives raw data its place,
/// and others write it. One such object at a time in a process.
class HeldBackWrite {
 public:
  HeldBackWrite(H5FD_class_t& table, const void* buffer);
  ~HeldBackWrite();
  HeldBackWrite(const HeldBackWrite&) = delete;
  HeldBackWrite& operator=(const HeldBackWrite&) = delete;
  /// Holds back writes from another buffer.
  void hold(const void* buffer) noexcept;
  /// Returns the first byte in the file; -1: nothing was written. It is forgotten.
  Offset take_place() noexcept;

 private:
  H5FD_class_t& table_;
};

}  // namespace forebay
