// The log's own objects in a file: a hidden group with the log's blocks, which are contiguous
// datasets of bytes, and one hidden attribute on each logged dataset's stand-in (Hou 2023, §6.2.1).
//
//     /_forebay_log                    attribute _forebay_file: version, session, index number
//     /_forebay_log/session            the witness (format/log_undo.h)
//     /_forebay_log/data.0, data.1 …   a block of data a flush
//     /_forebay_log/metadata.0, metadata.1 …   a block of metadata a flush (format/log_section.h)
//     /_forebay_log/index.N            the index, of the last close (format/log_index.h)
//     a stand-in                       attribute _forebay_dataset: id, extents, creation properties
//
// docs/formats.md has the grammar of the attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hdf5/connector/under.h"
#include "hdf5/log/logged_file.h"
#include "hdf5/log/logged_store_text.h"
#include "hdf5/log/undo_file.h"

namespace forebay::vol {

using logged::StoredDataset;

/// The hidden objects of one open file. All functions use the connector below. Functions that
/// create or change something are collective, like HDF5's own.
///
/// HDF5 needs the same metadata changes on all ranks. When it opens a file (always with
/// H5Pset_all_coll_metadata_ops), one rank reads metadata for all, and they wait for it. So all
/// changes follow directly after a collective step, in a sequence of calls in which nothing of ours
/// can fail: names and attributes are on the stack.
class LogStore : public logged::BlockSpace {
 public:
  LogStore(const UnderObject& file, const Comm& comm) : comm_(comm), file_(file) {}

  /// Collective.
  void create(std::uint64_t session);
  /// Collective. Returns false if the file has no log. Errc::ebadlog: the log is damaged or of a
  /// newer version.
  bool open(bool writing);
  std::uint64_t session() const { return session_; }

  /// Collective. Returns the place of the witness, which the caller writes; makes one if the file
  /// has none.
  Offset witness_place();
  /// From now on new blocks of the log avoid places that the last flushed state of the file needs.
  void set_undo(UndoFile& undo) { undo_ = &undo; }

  /// Collective. Returns the blocks of metadata, in order. An index covers the first `known`; only
  /// their number counts. A block that a killed job did not finish is empty.
  std::vector<logged::MetadataBlock> blocks(std::uint64_t known);
  /// Returns the index of the opened log.
  std::optional<logged::MetadataBlock> index() const { return index_place_; }
  /// The new index takes effect, and the old one is removed.
  void replace_index();

  Offset allot(Use use, Count bytes) override;

  /// Uses another open object to reach the file from now on, because the previous one may be
  /// closed.
  void move_to(const UnderObject& object) { file_ = object; }
  /// Keeps the log's group open while the file is mounted in another one: the file's own handles
  /// lead there then, so the group is used to reach the file.
  void hold() { held_ = group(); }
  bool is_held() const { return static_cast<bool>(held_); }
  /// Allows the group to be closed.
  void let_go() { held_ = {}; }

 private:
  OwnedUnder group();
  std::uint64_t count_of(const char* kind);
  logged::MetadataBlock make_block(const char* name, Count bytes);

  Comm comm_;
  UnderObject file_;
  OwnedUnder held_;
  // The log's group. If this file is mounted, paths begin at the other file's root.
  std::optional<H5O_info2_t> group_;
  std::optional<logged::MetadataBlock> index_place_, witness_;  // index: of the opened log
  std::uint64_t session_ = 0, index_ = 0;  // index_: 0 for none, n + 1 for index.n
  std::optional<std::uint64_t> data_blocks_, metadata_blocks_;
  UndoFile* undo_ = nullptr;
};

/// Returns the attribute of a dataset of the connector below; nullopt if it has none.
/// Errc::ebadlog.
std::optional<StoredDataset> read_stored(const UnderObject& dataset, hid_t dxpl);
void write_stored(const UnderObject& dataset, const StoredDataset& stored, bool create, hid_t dxpl);

}  // namespace forebay::vol
