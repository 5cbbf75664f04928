// What a log file holds besides its datasets: a hidden group with the blocks of the log as
// contiguous datasets of bytes, and on each logged dataset's stand-in one hidden attribute (D6
// §6.2.1).
//
//     /_forebay_log                    attribute _forebay_file: version, session, number of the
//     index
//     /_forebay_log/session                    the witness (format/log_undo.h)
//     /_forebay_log/data.0, data.1 …           a block of data a flush
//     /_forebay_log/metadata.0, metadata.1 …   a block of metadata a flush (format/log_section.h)
//     /_forebay_log/index.N                    the index, of the last close (format/log_index.h)
//     a stand-in                       attribute _forebay_dataset: id, extents, creation properties
//
// docs/formats.md has the grammar of the attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/hdf5vol/under.h"
#include "layout/logged/logged_file.h"
#include "layout/logged/logged_store_text.h"
#include "layout/logged/undo_file.h"

namespace forebay::vol {

using logged::StoredDataset;

/// The hidden objects of one open file. All functions use the connector below; those that create or
/// change something are collective as HDF5's own are.
///
/// HDF5 needs the same changes of metadata on all ranks, and where it opens a file (everywhere with
/// H5Pset_all_coll_metadata_ops) it reads them by one rank for all, who wait for it. So all that is
/// done to the file comes right behind a meeting, in a stretch of calls in which nothing of ours
/// can fail: names and attributes are on the stack.
class LogStore : public logged::BlockSpace {
 public:
  LogStore(const UnderObject& file, const Comm& comm) : comm_(comm), file_(file) {}

  /// Collective.
  void create(std::uint64_t session);
  /// Collective. False if the file has no log. Errc::ebadlog for one that is damaged or of a newer
  /// version.
  bool open(bool writing);
  std::uint64_t session() const { return session_; }

  /// Collective. Where the witness lies, which the caller writes; made where the file has none.
  Offset witness_place();
  /// From now on blocks of the log do not take what the file of the last flush needs.
  void set_undo(UndoFile& undo) { undo_ = &undo; }

  /// Collective. The blocks of metadata, in order; of the first `known`, which an index covers,
  /// only the number counts. A block that a killed job did not finish is empty.
  std::vector<logged::MetadataBlock> blocks(std::uint64_t known);
  /// Of the log that was opened.
  std::optional<logged::MetadataBlock> index() const { return index_place_; }
  /// The number that the new index takes, the old one goes.
  void replace_index();

  /// The file has no log any more.
  void remove();

  Offset allot(Use use, Count bytes) override;

  /// Reaches the file through another of its open objects from now on: the one before may be
  /// closed.
  void move_to(const UnderObject& object) { file_ = object; }
  /// Keeps the log's group open, by which the file is reached while it is mounted in another one:
  /// its own handles lead there.
  void hold() { held_ = group(); }
  bool is_held() const { return static_cast<bool>(held_); }
  /// The group may be closed. Whether the present handle leads to another file.
  bool let_go();

 private:
  OwnedUnder group();
  std::uint64_t count_of(const char* kind);
  logged::MetadataBlock make_block(const char* name, Count bytes);

  Comm comm_;
  UnderObject file_;
  OwnedUnder held_;
  // The group: where this file is mounted, paths begin at the root of the other.
  std::optional<H5O_info2_t> group_;
  std::optional<logged::MetadataBlock> index_place_, witness_;  // index: of the log that was opened
  std::uint64_t session_ = 0, index_ = 0;  // index_: 0 for none, n + 1 for index.n
  std::optional<std::uint64_t> data_blocks_, metadata_blocks_;
  UndoFile* undo_ = nullptr;
};

/// The attribute of a dataset of the connector below; nothing if it has none. Errc::ebadlog.
std::optional<StoredDataset> read_stored(const UnderObject& dataset, hid_t dxpl);
void write_stored(const UnderObject& dataset, const StoredDataset& stored, bool create, hid_t dxpl);

}  // namespace forebay::vol
