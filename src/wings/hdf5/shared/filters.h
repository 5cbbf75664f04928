// Applies and undoes the filter pipeline of a dataset, for the data of one write to a log (Hou
// 2023, §6.2.2).
//
// HDF5 has no call that runs a pipeline on memory. So a dataset of one chunk is made in a file in
// memory. What is written to it goes through all its filters, HDF5's own and plug-ins alike.
// H5Dread_chunk returns the result.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "hdf5/shared/id.h"

namespace forebay {

/// Makes a file that exists only in memory, for HDF5 functions that need a file.
Hdf5Id file_in_memory();
/// Returns a copy of `type` that is not committed, so that datasets of any file can have it.
Hdf5Id uncommitted(hid_t type);

/// The pipeline of one dataset. Each call makes a dataset in memory.
class FilterPipeline {
 public:
  /// `dcpl` is the dataset's, with its filters; `type` is the file's type.
  FilterPipeline(hid_t dcpl, hid_t type);

  /// Returns whether a property list has any filter.
  static bool any(hid_t dcpl);

  /// The most bytes for a pipeline. Larger writes are stored without it.
  static constexpr Count most_bytes = Count{1} << 30;

  /// Returns the property list of a created dataset with that space.
  Hdf5Id properties_of(hid_t space) const;

  struct Filtered {
    std::vector<std::byte> bytes;
    std::uint32_t mask = 0;  ///< skipped filters, as in H5Dread_chunk
  };
  /// Errc::efilter if a filter fails or is missing.
  Filtered apply(std::span<const std::byte> values);
  /// The same for chunks of a shape, one after another in `values`.
  std::vector<Filtered> apply(std::span<const std::byte> values, const std::vector<Count>& shape);
  /// Undoes apply(). `values` has the size that apply() got.
  void undo(std::span<const std::byte> bytes, std::uint32_t mask, std::span<std::byte> values);

 private:
  struct Chunk {
    Hdf5Id file, dataset;
  };
  // Makes a dataset of so many chunks, side by side along the first dimension.
  Chunk make_chunks(const std::vector<Count>& shape, Count chunks) const;

  Hdf5Id dcpl_, type_;
  std::size_t size_;
};

}  // namespace forebay
