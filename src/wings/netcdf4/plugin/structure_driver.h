// A virtual file driver under which HDF5 makes the structure of a file whose values others write.
//
// HDF5 asks the driver for space. Raw data gets the place where its values are, or will be; then
// HDF5 "writes" them there, and the driver drops the bytes. All else gets new places from the owner
// of the file's free space. Its bytes stay in memory: others write them to the file, so that HDF5
// never meets an error of a file, after which it may not be able to close it.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace forebay::netcdf4 {

/// What the driver of the one open file does.
struct DriverState {
  struct Block {
    std::vector<std::byte> bytes;
    Count used = 0;
  };
  std::function<Offset(Count bytes)> allocate;  ///< none: the structure is given up
  std::vector<std::byte> superblock;
  std::map<Offset, Block> blocks;  ///< by their places
  Offset block = 0;                ///< the last one that was made
  Offset end = 0;                  ///< one past the last byte in use
  /// The place that the next raw data gets, and its bytes; 0 bytes: none is expected.
  Offset raw_place = 0;
  Count raw_bytes = 0;
  Count next_block = 4096;
  std::optional<Error> error;  ///< of the first call that failed

  Offset file_end() const { return end == 0 ? 0 : end + 8; }  ///< as HDF5 sees it
  void expect_raw(Offset place, Count bytes) {
    raw_place = place;
    raw_bytes = bytes;
  }
};

/// Makes a list of file access properties with the driver for a file. HDF5 may keep a file that it
/// could not close, and try again when the process ends, so the file shares the state. Returns a
/// negative number if it fails.
hid_t access_by_structure_driver(std::shared_ptr<DriverState> state);

}  // namespace forebay::netcdf4
