// ChunkStore: the chunk index of one open file, equal on all ranks, and the free space around it,
// or in the data files that chunks lie in.
//
// Every rank holds the whole index (40 bytes a chunk) and makes the same changes to it, so places
// in the file are agreed on without messages. Rank 0 alone reads and writes the stored form.
//
// What a crash leaves (docs/formats.md): chunks, pages and directories go to space that neither the
// last published nor the last synced state uses; records of the journal go behind those that are
// there; a publication becomes visible by one write within a sector. Space is reused once no root
// that may still be needed refers to it.
//
// What a publication costs: O(what changed). One that writes directory and changed pages has as
// many bytes set aside as it cost, if that was much, and the journal takes them up before the next
// one of its kind.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/schema.h"
#include "base/extent.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "comm/comm.h"
#include "format/chunk_index.h"
#include "layout/chunked/loaded_index.h"
#include "layout/list_stream.h"
#include "plan/file_space.h"

namespace forebay::chunked {

class ChunkStore {
 public:
  /// All three outlive the store.
  ChunkStore(Schema& schema, ExtentIo& io, const Comm& comm);
  ~ChunkStore();
  /// Local, before create() or load(). The index lies in a file of its own, which `io` reads and
  /// writes and which outlives the store; chunks lie in data files, or as entries say.
  void lie_apart(ExtentIo& io) {
    io_ = &io;
    apart_ = true;
  }

  /// Collective. A new index: root slots at `root`, chunks from behind them on.
  void create(Offset root);
  /// Collective. Reads the index whose root slots are at `root`; `file_size` is known on rank 0.
  /// Sets the chunk shapes of the schema's variables from it. Errc::enotnc when no root, or not all
  /// of the index, can be read. Returns LoadedIndex::is_newest.
  bool load(Offset root, Offset file_size, OpenState state);

  /// Local, equal on all ranks: the index cannot be read; chunked variables say why when used.
  void give_up(const std::string& why);

  ChunkTable& table(VarId var) { return tables_[static_cast<std::size_t>(var)]; }
  const ChunkTable& table(VarId var) const { return tables_[static_cast<std::size_t>(var)]; }
  /// After variables were added.
  void grow(std::size_t variables);

  /// Byte of the file, which the index lies in, for an offset of the index.
  Offset in_file(Offset offset) const { return offset + shift_; }
  /// Byte of the file that a chunk lies in.
  Offset in_file(const Entry& e) const { return e.file == 0 ? in_file(e.offset) : e.offset; }
  Offset root() const { return root_; }
  /// One past the last byte in use, in the file.
  Offset end() const { return space_.end() + shift_; }
  /// Local, equal on all ranks: a place for new bytes in a file, named as entries do.
  Offset allocate(Count bytes, std::uint32_t file) { return space_of(file).allocate(bytes); }
  /// Local, equal on all ranks: nothing refers to it. `under_way`: it may still be written to,
  /// until the next publication.
  void give_back(const Entry& entry, bool under_way) {
    const Retired place{entry.offset, entry.bytes, entry.file};
    if (under_way)
      until_published_.push_back(place);
    else
      release(place);
  }
  /// Numbers of the data files that chunks lie in, or lay when the index was loaded.
  std::vector<std::uint32_t> data_files() const;
  /// Local, equal on all ranks: the chunk is what `entry` says from the next publication on.
  void replace(VarId var, Count id, Entry entry);
  /// Local, equal on all ranks: everything up to byte `to` of the file belongs to others.
  void skip_to(Offset to) { space_.skip_to(to - shift_); }
  /// Local, equal on all ranks: all that the index refers to was moved by `bytes`, root slots too;
  /// the next publication says so.
  void moved(Count bytes);

  /// A store whose changes are published, and whether for the last time: see publish_whole().
  struct Changed {
    ChunkStore* store;
    bool whole = false;
  };
  /// Collective. Makes the index as it is now, and the schema's number of records, the file's
  /// state, if either has changed. Data must have been written by all ranks, and all agree on the
  /// number of records. An error of rank 0 is thrown on all; the published state stays the old one
  /// then.
  void publish() { publish(comm_, {{{this}}}); }
  /// Collective. The same for the stores of several files at a time.
  static void publish(const Comm& comm, std::span<const Changed> all);
  /// Collective. What that does, within change(): returns the error that it would throw, of any of
  /// them. None is published then.
  static std::optional<Error> publish_changes(const Comm& comm, std::span<const Changed> all);
  /// Collective. Calls f(), which changes the indices alike on all ranks and returns an error that
  /// is the same for all, if there is one; it is thrown. If a rank fails in another way, ranks may
  /// hold different indices: all throw, and so does require_whole() from then on, where they cannot
  /// go back (WayBack). The files keep the states that were published last.
  template <typename F>
  static void change(const Comm& comm, std::span<const Changed> all, F&& f) {
    for (const Changed& each : all) each.store->require_whole();
    std::optional<Error> outcome;
    const auto torn = attempt_together(comm, [&] { outcome = f(); });
    if (torn) {
      for (const Changed& each : all) each.store->go_back_or_tear(*torn);
      throw *torn;
    }
    if (outcome) throw *outcome;
  }
  /// While it lives, a change() that fails on one rank leaves these stores as they were when it was
  /// made, unless that was after all had laid out what they publish: for files that are changed
  /// together, of which one's failure must not be the others'. Local; to be made on all ranks, and
  /// what it throws agreed upon, before the change begins. Takes as much memory as pages have in
  /// directories, and free ranges.
  class WayBack {
   public:
    explicit WayBack(std::span<const Changed> all);
    ~WayBack();
    WayBack(const WayBack&) = delete;
    WayBack& operator=(const WayBack&) = delete;

   private:
    std::span<const Changed> all_;
  };
  /// Local. To be called before anything that ranks do or leave out by what they hold.
  void require_whole() const {
    if (torn_) throw *torn_;
  }
  bool is_whole() const { return !torn_; }
  /// Collective. The same, and the state needs no journal any more.
  void publish_whole() { publish(comm_, {{{this, true}}}); }
  /// Collective. What was published has reached the device on all ranks: its root says so from now
  /// on. False when nothing was published since the last time. Once rank 0's file has been synced
  /// again, the mark is there too, and forget_older_synced() (local, equal on all ranks) gives the
  /// space of the older synced state free.
  bool mark_synced();
  void forget_older_synced();
  /// The newest publication is marked as synced.
  bool is_synced() const { return synced_slot_ == slot_; }

  void touch() { dirty_ = true; }  ///< what belongs to the file has changed
  void shape_chosen(VarId var);

  /// Local, equal on all ranks: shape_chosen() of so many variables needs no memory.
  void expect_shapes(std::size_t n) { renewed_.reserve(renewed_.size() + n); }

  std::uint32_t generation() const { return root_state_.generation; }

 private:
  struct Retired {
    Offset offset;
    Count bytes;
    std::uint32_t file = 0;
  };
  struct Block {  // to be written by a publication
    Offset offset = 0;
    std::vector<std::byte> bytes;  // empty on all ranks but 0
    Retired journal{-1, 0};        // set aside for what follows; offset -1: nothing
  };

  struct Spaces {
    FileSpace of_index;
    std::map<std::uint32_t, FileSpace> of_data;
  };
  /// A state of the index that is to become the file's.
  struct Publication {
    Root root, before;
    Block block;
    bool whole = false;           // directory and pages, not a record of the journal
    std::optional<Spaces> after;  // free space once it is published, where there is a way back
  };
  struct Saved;

  void tear(const Error& why);
  void go_back_or_tear(const Error& why) noexcept;
  void go_back() noexcept;
  void no_way_back();
  Spaces spaces_after(const Publication& news) const;
  static std::optional<Error> publish_group(const Comm& comm, std::span<const Changed> all);
  std::optional<Publication> lay_out(bool whole);
  Root next_root() const;
  Directory::Item item_of(VarId var) const;
  bool has_news(bool whole) const;
  int next_slot() const;
  void write(Publication& publication);
  void is_published(Publication& publication);
  void undo(const Publication& publication);
  bool may_lie(const Entry& e) const {
    return chunked::may_lie(e, apart_, root_ - shift_ + slots * slot_stride);
  }
  FileSpace& space_of(std::uint32_t file);
  void release(const Retired& place) { space_of(place.file).release(place.offset, place.bytes); }
  void retire(const Retired& place, std::uint32_t birth);
  std::optional<Block> lay_out_record(Root& root);
  Block lay_out_index(Root& root, bool with_journal);
  void count_index();
  void write(Offset in_file, std::span<std::byte> bytes);
  void write_root(int slot, const Root& root);

  Schema& schema_;
  ExtentIo* io_;
  const Comm& comm_;
  bool apart_ = false;
  std::vector<ChunkTable> tables_;
  FileSpace space_;                            // of the file of the index
  std::map<std::uint32_t, FileSpace> spaces_;  // of data files, by what entries name them by
  Offset root_ = 0;                            // of the first slot, in the file
  Offset shift_ = 0;
  Root root_state_;  // as last published
  int slot_ = 0;     // that holds it
  int synced_slot_ = -1;
  std::uint32_t synced_generation_ = 0;  // blocks born up to then are in use by the synced state
  std::uint32_t directory_birth_ = 0;
  Retired journal_{-1, 0};     // the place of root_state_.journal, all that was set aside
  RunningHash journal_hash_;   // of what stands there; on rank 0
  bool journal_ends_ = false;  // nothing may be appended
  std::vector<Retired> until_published_, until_synced_;
  bool dirty_ = false;
  std::optional<Error> torn_;                     // the same on all ranks, but for its words
  std::vector<std::pair<VarId, Count>> changed_;  // chunks, since the last publication
  std::vector<VarId> renewed_;                    // variables that it lists, as they were not
  std::vector<bool> listed_;      // variables that the published state or renewed_ tells of
  Count index_bytes_ = 0;         // of all pages and what names them
  Count numrecs_ = 0;             // as published
  std::unique_ptr<Saved> saved_;  // by a WayBack
};

}  // namespace forebay::chunked
