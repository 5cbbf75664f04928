// The layout `decomposed`: values are stored as ranks hold them, appended, and each decomposition
// once (D6 §6.4). docs/decomposed.md tells of it; the words:
//
//     map     a decomposition: of each rank the pattern of what it writes, the record taken out
//     blob    one rank's values of one variable and record
//     group   ranks that share a data file: those of a node, if nothing else is asked for
//     slab    a group's blobs of one variable and record, in the order of ranks (D6, figure 6.3)
//
// A collective write: requests become blobs; each group agrees by hashes and sizes on its slabs
// (settle.h), writes them through a transport of its own, and its leader adds a section and a root;
// then all ranks meet, and rank 0 writes the state. So all variables of all nodes are as of one
// commit, whatever kills the job.
//
// A read is each rank's own (reader.h), but that in a collective one ranks ask each other what the
// indexes of several data files tell (dealt_index.h). Independent writes wait for the next
// collective call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "layout/classic_part.h"
#include "layout/decomposed/blob_stream.h"
#include "layout/decomposed/data_file.h"
#include "layout/decomposed/dealt_index.h"
#include "layout/decomposed/encode.h"
#include "layout/decomposed/reader.h"
#include "layout/decomposed/selected.h"
#include "layout/decomposed/settle.h"
#include "layout/decomposed/state_file.h"
#include "layout/decomposed/waiting.h"

namespace forebay::decomposed {

struct NamedPart;

inline OpenState wanted_state(const Method& method) {
  return method.chunk_state == "synced" ? OpenState::synced : OpenState::newest;
}

class DecomposedLayout : public ApartPart {
 public:
  explicit DecomposedLayout(const ClassicSite& site);
  ~DecomposedLayout() override;
  DecomposedLayout(const DecomposedLayout&) = delete;
  DecomposedLayout& operator=(const DecomposedLayout&) = delete;

  void carry_out(std::span<Request> requests, bool write, bool collective) override;
  void flush() override;
  std::string reasons() const override;
  ByteRange in_place(std::span<const Request> /*writes*/) const override { return {}; }

  // definitions.cc
  bool keeps(const Variable& var) const override { return var.decomposed; }
  void choose(const Schema* old, const KeptElsewhere& elsewhere) override;
  Schema stored(const Schema& schema) const override;
  Schema take_over(Schema stored) override;
  bool renew(Schema& stored) const override;
  void make_files() override;
  void start(const Schema* old, const std::function<void(const Move&)>& relocate) override;
  void put_anchors(const Schema* old) override;
  std::shared_ptr<const Decomposition> stored_decomposition(int id) override;
  bool load(Count in_header) override;
  bool header_is_old() const override { return false; }
  void header_written() override {}

  std::optional<bool> has_last_work() const override;
  void publish() override;
  void publish_last() override;
  void synced() override;
  void fill_record(VarId var, Count record) override;
  void release() override;
  void close() override;

 private:
  struct Group : data_files::Group {
    std::shared_ptr<File> file;
    std::unique_ptr<ExtentIo> io;
    std::unique_ptr<SlabEncoder> encoder;
    std::unique_ptr<DataFileWriter> writer;  // of the leader
    /// Of the leader: roots that no commit followed in files that no group is left for.
    struct Stale {
      std::shared_ptr<File> file;
      std::vector<int> slots;
    };
    std::vector<Stale> stale;
  };
  void sync_data_files();
  struct Write {  // blobs before it is known where they go
    Item item;
    std::shared_ptr<const Selected> what;
    const std::byte* data;
    int width, swap;
  };

  // definitions.cc
  struct OwnRuns {  // of a map
    std::size_t map;
    std::vector<Run> runs;
  };
  std::vector<OwnRuns> maps_to_tell(const Schema* old);  // collective
  void define(std::span<const OwnRuns> fresh);           // the same, of each group
  void make_group();                                     // collective
  void make_writer();
  void make_io();                                                   // the same
  void open_to_write(std::uint64_t last_epoch, bool damaged_slot);  // collective
  void find_stale(RootsFound& found);
  std::shared_ptr<File> make_file(const std::string& path, bool writable);

  // decomposed.cc
  void require_readable() const;
  std::vector<Write> writes_of(std::span<Request> requests);
  void add_writes(std::span<const NamedPart> parts, std::vector<Write>& writes);
  void restore_writer();
  // Collective over the group.
  Settled settle_all(std::span<const Item> items, std::span<const Blob> blobs,
                     const ForLeader& beside);
  // Collective over the group. `before`: what the leader's file had before it, once that is known.
  void append(const std::function<std::span<Request>()>& requests,
              std::optional<DataFileWriter::Mark>* before = nullptr);
  ForLeader new_patterns(std::span<const Write> writes);
  void take_patterns(std::span<const std::byte> patterns);  // of the leader
  void send_patterns(std::vector<std::byte> mine);          // collective over the group
  /// The same on all ranks. Blobs may still be under way when a write returns; publish() comes when
  /// they are not.
  bool writes_later() const { return site_.later && site_.later->is_open(); }
  void append_uncommitted(std::span<Request> requests);  // collective
  // Collective. `append` appends what is to be committed.
  void commit(const std::function<void()>& append);
  void write_state(const State& next);  // collective
  void overrule();                      // the same
  void invert();                        // the same
  void read(std::span<Request> requests, bool collective);

  ClassicSite site_;
  Schema& schema_;
  const Comm& comm_;
  std::uint64_t id_ = 0;
  bool begun_ = false;               // data files are there
  std::optional<Error> unreadable_;  // the same on all ranks
  State state_;                      // as committed last; the same on all ranks
  // A state with a higher epoch may be in the file; the same on all ranks. What it uses stays.
  bool in_doubt_ = false;
  std::uint64_t epoch_ = 0;                // of the last attempt to commit
  std::uint64_t synced_through_ = 0;       // of the state that was synced last
  std::unique_ptr<StateFile> state_file_;  // of rank 0
  std::optional<Group> group_;             // of who writes
  bool writer_lost_ = false;               // its leader does not know what its file has
  bool uncommitted_ = false;  // something was appended that is to be committed; the same on all
  Selector selector_;
  SlabCodings codings_;
  Reader reader_;
  DealtIndex dealt_;
  bool names_synced_ = false;
  WaitingWrites waiting_;
  bool still_waiting_ = false;  // handing them over failed; the same on all ranks
  logged::PatternPacker packer_;
  std::set<Key> given_;                         // patterns that the leader has
  std::uint32_t order_ = 0;                     // of what is appended next, in this commit
  std::vector<std::vector<std::byte>> staged_;  // data of writes that were put together
  Report temporary_report_;                     // of files that nobody but this rank sees

  // For the report.
  std::int64_t commits_ = 0, joined_ = 0;
  std::optional<Error> not_inverted_;
};

}  // namespace forebay::decomposed
