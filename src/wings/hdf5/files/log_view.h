// Shows files in the log layout (docs/formats.md, "The log layout in an HDF5 file") as they were
// written: without the hidden group, and with datasets in place of the scalars that stand for them.
//
// The connector that writes such files has its own HDF5. Here they are read as ordinary HDF5 files,
// and their log by core's LoggedFile.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "hdf5/files/view.h"
#include "hdf5/log/logged_file.h"
#include "hdf5/log/logged_store_text.h"
#include "hdf5/shared/dataset_state.h"

namespace forebay {

/// The log of an open file.
struct Hdf5Log {
  std::unique_ptr<LoggedFile> file;
  Count index_bytes = 0;     ///< 0: no index
  std::string index_damage;  ///< why an existing index is not used
};

/// Opens the log: finds its blocks and its index. `every_block` also adds blocks that the index
/// covers, with their places. Checking needs these, reading does not. A damaged index is ignored.
/// Errc::ebadlog for a damaged or newer attribute, and for missing blocks.
Hdf5Log open_hdf5_log(hid_t file, bool every_block);

/// Returns whether a file has a log.
bool has_hdf5_log(hid_t file);

class Hdf5LogView final : public Hdf5View {
 public:
  /// `file` must stay open as long as the view is in use.
  explicit Hdf5LogView(hid_t file);

  std::string name() const override { return "layout log"; }
  bool hides_link(const std::string& path, const std::string& link) const override;
  bool hides_attribute(hid_t object, const std::string& attribute) const override;
  Hdf5Id space(hid_t dataset) const override;
  Hdf5Id creation(hid_t dataset) const override;
  Count stored_bytes(hid_t dataset) const override;
  /// Errc::ebadlog for a damaged log, Errc::efilter for a missing filter, and what opening a
  /// subfile throws.
  void read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const override;

  /// Returns the number of a dataset in the log; nothing if it is not in the log.
  std::optional<std::uint64_t> id_of(hid_t dataset) const;

 private:
  /// Returns null for a dataset that is not in the log.
  DatasetState* find(hid_t dataset) const;
  bool read_stored(DatasetState& dataset, const Subarray& part, std::span<std::byte> out) const;

  Hdf5Log log_;
  mutable std::map<Hdf5Address, std::unique_ptr<DatasetState>> datasets_;  // null: not in the log
};

}  // namespace forebay
