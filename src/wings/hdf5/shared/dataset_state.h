// A dataset in the log, as the hidden attribute of its stand-in describes it.
#pragma once

#include <hdf5.h>

#include <memory>
#include <vector>

#include "hdf5/log/log_reader.h"
#include "hdf5/log/logged_store_text.h"
#include "hdf5/shared/filters.h"
#include "hdf5/shared/id.h"

namespace forebay {

/// The state that all handles of a dataset share.
class DatasetState {
 public:
  /// `type` is the type of the elements in the file; it is copied. `dcpl` are the decoded creation
  /// properties.
  DatasetState(logged::StoredDataset stored, hid_t type, Hdf5Id dcpl);

  std::uint64_t id() const { return stored_.id; }
  const logged::StoredDataset& stored() const { return stored_; }
  const std::vector<Count>& extents() const { return stored_.extents; }
  std::uint32_t ndims() const { return static_cast<std::uint32_t>(stored_.extents.size()); }
  void set_extents(std::vector<Count> extents) { stored_.extents = std::move(extents); }
  hid_t type() const { return type_; }
  std::size_t element_size() const { return fill_.size(); }
  hid_t dcpl() const { return dcpl_; }
  bool chunked() const { return chunked_; }
  /// Returns the filters; null if there are none.
  FilterPipeline* filters();
  Hdf5Id make_space() const;

  /// One element, which is zero if the program gave none.
  std::span<const std::byte> fill_value() const { return fill_; }
  /// Overwrites `out`, packed elements of the file's type, with the fill value. Leaves it unchanged
  /// if the program said that there is none, or that it is never written.
  void fill(std::span<std::byte> out) const;
  bool has_default_fill() const { return default_fill_; }
  /// Returns whether HDF5 would have no storage for the dataset before it is written, and would use
  /// its default fill value. Then it returns zeros of any type. In files opened with MPI-IO HDF5
  /// allocates early.
  bool zeros_unwritten() const { return default_fill_ && !allocated_; }
  /// Returns whether HDF5 would allocate storage from the beginning.
  bool allocated() const { return allocated_; }
  void set_allocated(bool early) { allocated_ |= early; }
  /// For LogReader. Valid as long as this object.
  logged::DatasetShape shape();

 private:
  logged::StoredDataset stored_;
  Hdf5Id type_, dcpl_;
  bool chunked_, filtered_, allocated_;
  bool has_fill_ = true, default_fill_ = true;
  std::vector<std::byte> fill_;
  std::unique_ptr<FilterPipeline> filters_;
  logged::Unfilter unfilter_;
};

}  // namespace forebay
