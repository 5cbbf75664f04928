// ChunkStore is the chunk index of one open file, equal on all ranks. It also manages the free
// space around the index, or in the data files that chunks lie in.
//
// In a file that is open for writing, every rank holds the whole index (40 bytes a chunk) and makes
// the same changes to it. So ranks agree on places in the file without messages. Only rank 0 reads
// and writes the stored form. In a file that is open for reading, each rank reads what it needs
// (pages_on_demand.h).
//
// After a crash (docs/formats.md) the old state or the new one is there. Chunks, pages and
// directories go to space that neither the last published nor the last synced state uses. Records
// of the journal follow those that are there. A publication becomes visible by one write within a
// sector. Space is reused once no root that may still be needed refers to it.
//
// A publication costs O(what changed). One that writes the directory and changed pages also
// reserves as many bytes for the journal, unless they are few. The journal fills them before the
// next publication of this kind.
#pragma once

#include <functional>
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
#include "layout/chunked/pages_on_demand.h"
#include "layout/list_stream.h"
#include "plan/compaction.h"
#include "plan/file_space.h"

namespace forebay::chunked {

class ChunkStore {
 public:
  /// All three arguments outlive the store.
  ChunkStore(Schema& schema, ExtentIo& io, const Comm& comm);
  ~ChunkStore();
  /// Local, before create() or load(). The index lies in a file of its own, which `io` reads and
  /// writes; `io` outlives the store. Chunks lie in the data files that their entries name.
  void lie_apart(ExtentIo& io) {
    io_ = &io;
    apart_ = true;
  }

  /// Local, before create() or adopt(). The file's format has an index of its own, which another
  /// writes: publications then change the state in memory alone. mark_synced() and
  /// forget_older_synced() enclose the write that makes the file show it.
  void leave_index_to_others() { by_others_ = true; }
  /// Local, with leave_index_to_others(). Another also keeps the file's space: `place_of` tells
  /// where the bytes of a new entry go. It is called on all ranks in the same order. Bytes beyond
  /// those of the entry are not written.
  using PlaceOf = std::function<Offset(VarId var, Count id, const Entry& entry)>;
  void leave_places_to_others(PlaceOf place_of) { place_of_ = std::move(place_of); }
  bool has_own_places() const { return !place_of_; }
  /// Local, equal on all ranks, instead of load(). Takes the index that the file has; `used` is
  /// what the file uses otherwise.
  void adopt(std::vector<ChunkTable> tables, std::vector<FileSpace::Range> used);
  /// Local, equal on all ranks. All that neither chunks nor `used` take is free from here on.
  void free_all_but(std::vector<FileSpace::Range> used);

  /// Collective. Creates an index with its root slots at `root`. Chunks follow them.
  void create(Offset root);
  /// Collective. Reads the index whose root slots are at `root`. Rank 0 knows `file_size`. Sets the
  /// chunk shapes of the schema's variables. Errc::enotnc if no root, or only part of the index,
  /// can be read. Returns LoadedIndex::is_newest(). If it is false, a writer calls overrule() next.
  /// `size_to_read`, local, returns the present size of the file, which is only read: then ranks
  /// read pages of the index when they need them. Without it the whole index is read.
  bool load(Offset root, Offset file_size, OpenState state,
            const std::function<Offset()>& size_to_read);
  /// Collective. Publishes the loaded state once more, so that it is newer than what is given up,
  /// over a damaged slot if there is one. Nothing else may be written before the file is synced.
  void overrule();

  /// Local, equal on all ranks. Notes that the index cannot be read. Using a chunked variable then
  /// gives `why` as the error.
  void give_up(const std::string& why);

  ChunkTable& table(VarId var) { return tables_[static_cast<std::size_t>(var)]; }
  const ChunkTable& table(VarId var) const { return tables_[static_cast<std::size_t>(var)]; }
  /// To be called after variables were added.
  void grow(std::size_t variables);

  /// Returns the byte of the file of the index for an offset of the index.
  Offset in_file(Offset offset) const { return offset + shift_; }
  /// Returns the first byte of a chunk in its file.
  Offset in_file(const Entry& e) const { return e.file == 0 ? in_file(e.offset) : e.offset; }
  Offset root() const { return root_; }
  /// Returns the offset in the file one past the last byte in use.
  Offset end() const { return space_.end() + shift_; }
  /// Local, equal on all ranks. Returns a place for new bytes in a file, numbered as in entries.
  Offset allocate(Count bytes, std::uint32_t file) { return space_of(file).allocate(bytes); }
  /// Local, equal on all ranks. Returns the place for the bytes of a chunk.
  Offset place_for(VarId var, Count id, const Entry& entry) {
    return place_of_ ? place_of_(var, id, entry) : allocate(entry.bytes, entry.file);
  }
  /// Local. Returns the free space of a file, numbered as in entries. What is allocated in it is
  /// not allocated in the file.
  FileSpace copy_of_space(std::uint32_t file) const;
  /// Local, equal on all ranks. Nothing refers to the entry's bytes any more. `under_way`: they may
  /// still be written to, until the next publication.
  void give_back(const Entry& entry, bool under_way) {
    if (place_of_) return;
    const Retired place{entry.offset, entry.bytes, entry.file};
    if (under_way)
      until_published_.push_back(place);
    else
      release(place);
  }
  /// Returns the numbers of the data files that chunks lie in, or lay in when the index was loaded.
  std::vector<std::uint32_t> data_files() const;
  /// Returns the offset one past the last byte in use in a data file.
  Offset end_of_data(std::uint32_t number) const;
  /// Local, equal on all ranks. The next publication replaces the chunk's entry by `entry`.
  void replace(VarId var, Count id, Entry entry);
  /// A move of one chunk towards the beginning of its file.
  struct Move {
    VarId var;
    Count id;  ///< of the chunk
    Entry from;
    Offset to;
  };
  /// Local, equal on all ranks, when nothing waits for a publication. Returns moves of the last
  /// chunks of each file (plan/compaction.h), of `most(file)` bytes in total; files are numbered as
  /// in entries. The new places are allocated. Chunks that the last synced state refers to stay.
  std::vector<Move> make_moves(const std::function<Count(std::uint32_t file)>& most);
  /// Returns whether it pays to write the file of the index anew, if no chunks lie in it.
  bool has_sparse_index() const { return apart_ && is_sparse(space_.free_bytes(), index_bytes_); }

  /// Local, equal on all ranks. The file up to byte `to` belongs to others.
  void skip_to(Offset to) { space_.skip_to(to - shift_); }
  /// Local, equal on all ranks. All that the index refers to was moved by `bytes`, root slots too.
  /// The next publication records this.
  void moved(Count bytes);

  /// A store to publish. `whole`: as publish_whole() does.
  struct Changed {
    ChunkStore* store;
    bool whole = false;
  };
  /// Collective. Publishes the present index and the schema's number of records as the file's
  /// state, if either has changed. All ranks have written their data, and all agree on the number
  /// of records. An error of rank 0 is thrown on all ranks, and the old state stays published.
  void publish() { publish(comm_, {{{this}}}); }
  /// Collective. Publishes the stores of several files at a time.
  static void publish(const Comm& comm, std::span<const Changed> all);
  /// Collective, within change(). Publishes like publish(), but returns the error of any store.
  /// Then the stores that were written together with that one, and later stores, are not published.
  static std::optional<Error> publish_changes(const Comm& comm, std::span<const Changed> all);
  /// Collective. Calls f(), which changes the indices alike on all ranks. An error that f() returns
  /// is the same on all ranks, and is thrown. If one rank fails in another way, ranks may hold
  /// different indices. Then all ranks throw. From then on require_whole() throws too, unless a
  /// WayBack restores the stores. The files keep the states that were published last.
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
  /// While it lives, a change() that fails on one rank restores these stores to their state at its
  /// construction. It cannot do so once all ranks have laid out their publications. It serves files
  /// that are changed together: an error in one of them must not harm the others. Local; all ranks
  /// construct it, and agree on its errors, before the change begins. Its memory grows with the
  /// number of pages and of free ranges.
  class WayBack {
   public:
    explicit WayBack(std::span<const Changed> all);
    ~WayBack();
    WayBack(const WayBack&) = delete;
    WayBack& operator=(const WayBack&) = delete;

   private:
    std::span<const Changed> all_;
  };
  /// Local. To be called before any step that ranks take or omit depending on their index.
  void require_whole() const {
    if (torn_) throw *torn_;
  }
  bool is_whole() const { return !torn_; }
  /// Collective. Publishes all of the index, so that the state needs no journal.
  void publish_whole() { publish(comm_, {{{this, true}}}); }
  /// Collective. Notes in the root that what was published has reached the device on all ranks.
  /// Returns false if nothing was published since the last time. After the next sync of rank 0's
  /// file the mark is on the device too. Then forget_older_synced() (local, equal on all ranks)
  /// frees the space of the older synced state.
  bool mark_synced();
  void forget_older_synced();
  /// Returns whether the newest publication is marked as synced.
  bool is_synced() const { return commits_.is_synced(); }

  /// Local, equal on all ranks. The next publication writes all of the index anew.
  void renew_index();
  /// Returns whether something waits for publication.
  bool has_news() const { return has_news(true); }
  /// Returns whether a chunk was written since the index was made or loaded.
  bool wrote() const { return wrote_; }

  void touch() { dirty_ = true; }  ///< part of the file's state has changed
  void shape_chosen(VarId var);

  /// Local, equal on all ranks. The next `n` calls of shape_chosen() need no memory.
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
    Retired journal{-1, 0};        // reserved for later records; offset -1: none
  };

  struct Spaces {
    FileSpace of_index;
    std::map<std::uint32_t, FileSpace> of_data;
  };
  /// A state of the index that is about to be published.
  struct Publication {
    Root root, before;
    Block block;
    bool whole = false;           // directory and pages, not a journal record
    std::optional<Spaces> after;  // free space after it, if there is a WayBack
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
  void write(Publication& publication);
  void is_published(Publication& publication);
  void undo(const Publication& publication);
  bool may_lie(const Entry& e) const {
    if (by_others_) return e.offset >= slot_bytes;  // behind what begins the format
    return chunked::may_lie(e, apart_, root_ - shift_ + slots * slot_bytes);
  }
  FileSpace& space_of(std::uint32_t file);
  void find_space(const LoadedIndex& newest, const LoadedIndex* synced);
  static Retired whole_units(const Entry& e);
  void release(const Retired& place) { space_of(place.file).release(place.offset, place.bytes); }
  void retire(const Retired& place, std::uint32_t birth);
  std::optional<Block> lay_out_record(Root& root);
  Block lay_out_index(Root& root, bool with_journal);
  void narrow_boxes();
  void count_index();
  void write(Offset in_file, std::span<std::byte> bytes);
  void write_state(const Root& root);  // on rank 0
  void write_root(int slot, const Root& root);

  Schema& schema_;
  ExtentIo* io_;
  const Comm& comm_;
  bool apart_ = false, by_others_ = false;
  PlaceOf place_of_;
  std::unique_ptr<PagesOnDemand> pages_;  // of a file that is only read; tables refer to it
  std::vector<ChunkTable> tables_;
  FileSpace space_;                            // of the file of the index
  std::map<std::uint32_t, FileSpace> spaces_;  // of data files, by their number in entries
  Offset root_ = 0;                            // offset of the first slot in the file
  Offset shift_ = 0;
  Root root_state_;  // as last published, but with the generation of the last attempt
  store::Commits<Root> commits_;
  std::uint32_t synced_generation_ = 0;  // the synced state uses blocks born up to it
  std::uint32_t directory_birth_ = 0;
  Retired journal_{-1, 0};     // all that was reserved for root_state_.journal
  RunningHash journal_hash_;   // of the journal's records; on rank 0
  bool journal_ends_ = false;  // no record may be appended
  std::vector<Retired> until_published_, until_synced_;
  bool dirty_ = false;
  bool wrote_ = false;
  std::optional<Error> torn_;                     // the same on all ranks except for its message
  std::vector<std::pair<VarId, Count>> changed_;  // chunks changed since the last publication
  std::vector<VarId> renewed_;                    // variables to be listed anew
  std::vector<bool> listed_;                      // variables in the published state or in renewed_
  Count index_bytes_ = 0;                         // of all pages and the references to them
  Count numrecs_ = 0;                             // as published
  std::unique_ptr<Saved> saved_;                  // for a WayBack
};

}  // namespace forebay::chunked
