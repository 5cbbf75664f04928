// A dataset that the log holds, and one handle of it.
#pragma once

#include <memory>
#include <vector>

#include "api/hdf5vol/hooks.h"
#include "api/hdf5vol/logged_store.h"
#include "hdf5/filters.h"
#include "hdf5/id.h"
#include "layout/logged/logged_file.h"

namespace forebay::vol {

/// What all handles of a dataset share.
class DatasetState {
 public:
  /// `type`: of the elements in the file; copied.
  DatasetState(StoredDataset stored, hid_t type);

  std::uint64_t id() const { return stored_.id; }
  const StoredDataset& stored() const { return stored_; }
  const std::vector<Count>& extents() const { return stored_.extents; }
  void set_extents(std::vector<Count> extents) { stored_.extents = std::move(extents); }
  hid_t type() const { return type_; }
  std::size_t element_size() const { return size_; }
  hid_t dcpl() const { return dcpl_; }
  bool chunked() const { return chunked_; }
  /// The filters; null if there are none.
  FilterPipeline* filters();
  Hdf5Id make_space() const;

  /// Overwrites `out`, packed elements of the file's type, with the fill value; leaves it alone
  /// where the program said that there is none, or that it is never written.
  void fill(std::span<std::byte> out) const;
  /// Whether HDF5 would have no storage for the dataset before it is written, and its own fill
  /// value: then it hands out zeros of whatever type. In files opened with MPI-IO it allocates
  /// early.
  bool zeros_unwritten() const { return default_fill_ && !allocated_; }
  /// Whether HDF5 would have storage for it from the beginning.
  bool allocated() const { return allocated_; }
  void set_allocated(bool early) { allocated_ |= early; }
  /// For LogReader. Valid as long as the state.
  logged::DatasetShape shape();

 private:
  StoredDataset stored_;
  Hdf5Id type_, dcpl_;
  std::size_t size_;
  bool chunked_ = false, filtered_ = false, has_fill_ = true, default_fill_ = true;
  bool allocated_ = false;
  std::vector<std::byte> fill_;  // one element
  std::unique_ptr<FilterPipeline> filters_;
  logged::Unfilter unfilter_;
};

/// Why the log cannot hold such a dataset, so that it is stored as any HDF5 dataset; empty if it
/// can. Also what HDF5 would refuse is left to it.
std::string why_not_logged(hid_t type, hid_t space, hid_t dcpl);
/// Creation properties as H5Dcreate completes them: filters set parameters by the datatype.
Hdf5Id completed_properties(hid_t dcpl, hid_t type, hid_t space);
/// The creation properties of a stand-in: those of the object without those of the data.
Hdf5Id stand_in_properties(hid_t dcpl);
/// The dataspace of a stand-in. Of a dataset without chunks its own, and `stand_in` then says that
/// the values are in an external file, which does not exist: so HDF5 finds the extents where it
/// looks for them past the connector, gives no room, and without the connector reading is an error.
/// Of one with chunks a scalar: HDF5 does not copy external datasets whose extents have changed.
Hdf5Id stand_in_space(hid_t space, hid_t dcpl, hid_t stand_in);
/// Whether a stand-in's values are said to be in an external file.
bool is_external(const UnderObject& stand_in);
StoredDataset stored_from(std::uint64_t id, hid_t space, hid_t dcpl);

/// Local. One dataset of a write: its data is staged in the log.
void write_logged(LoggedFile& file, DatasetState& dataset, const DatasetWrite& write, hid_t dxpl);
/// Local. The present values of a selection, packed, in the file's type. `any`, if given: whether
/// any of them may have been written.
std::vector<std::byte> present_values(LoggedFile& file, DatasetState& dataset,
                                      const Placed& selection, bool* any = nullptr);
/// The same, into `values`. Whether any of them may have been written.
bool read_present(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                  std::span<std::byte> values);
/// Local. Appends packed values through the filters, if the dataset has any. `lent`: see
/// LogWriter::write.
void append_values(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                   std::span<const std::byte> values, bool lent);
/// Local. One dataset of a read.
void read_logged(LoggedFile& file, DatasetState& dataset, const DatasetRead& read, hid_t dxpl);

}  // namespace forebay::vol
