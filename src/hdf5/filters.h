// The filter pipeline of a dataset, applied to what one write appends to a log (D6 §6.2.2), and
// undone.
//
// HDF5 has no call that runs a pipeline on memory. A dataset of one chunk in a file that exists
// only in memory does: what is written to it goes through all its filters, HDF5's own and plug-ins
// alike, and H5Dread_chunk hands over the result.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "hdf5/id.h"

namespace forebay {

/// A file that exists only in memory, for what HDF5 does with files alone.
Hdf5Id file_in_memory();
/// A datatype that datasets of any file can have: `type`, but for being committed.
Hdf5Id uncommitted(hid_t type);

/// One chunk in memory. Kept from call to call; a dataset has one of its own.
class FilterPipeline {
 public:
  /// `dcpl`: of the dataset, with its filters; `type`: the file's.
  FilterPipeline(hid_t dcpl, hid_t type);

  /// Whether a property list has any filter.
  static bool any(hid_t dcpl);

  /// Values that a pipeline takes at once; larger writes are stored without.
  static constexpr Count most_bytes = Count{1} << 30;

  /// The property list that a dataset of that space has once it is created.
  Hdf5Id properties_of(hid_t space) const;

  struct Filtered {
    std::vector<std::byte> bytes;
    std::uint32_t mask = 0;  ///< of filters that were skipped, as in H5Dread_chunk
  };
  /// Errc::efilter where a filter fails or is missing.
  Filtered apply(std::span<const std::byte> values);
  /// The opposite. `values` has the size that apply() was given.
  void undo(std::span<const std::byte> bytes, std::uint32_t mask, std::span<std::byte> values);

 private:
  struct Chunk {
    Hdf5Id file, dataset;
  };
  Chunk make_chunk(Count elements) const;

  Hdf5Id dcpl_, type_;
  std::size_t size_;
};

}  // namespace forebay
