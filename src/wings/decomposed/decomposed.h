// The layout `decomposed`: values are appended as ranks hold them, and each decomposition is stored
// once (Hou 2023, §6.4). docs/decomposed.md describes it. Its words:
//
//     map     a decomposition: for each rank the pattern of what it writes, without the record
//     blob    one rank's values of one variable and record
//     group   ranks that share a data file: by default those of a node
//     slab    a group's blobs of one variable and record, in rank order (Hou 2023, figure 6.3)
//
// In a collective write, requests become blobs. Each group agrees on its slabs by hashes and sizes
// (settle.h), and writes them through its own transport. Its leader adds a section and a root.
// After a collective step of all ranks, rank 0 writes the state. So all variables of all nodes are
// as of one commit, even if the job is killed.
//
// Each rank reads on its own (reader.h). In a collective read, ranks ask each other about the
// indexes of several data files (distributed_index.h). Independent writes wait for a collective
// call.
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
#include "decomposed/blob_stream.h"
#include "decomposed/data_file.h"
#include "decomposed/decomposed_reader.h"
#include "decomposed/distributed_index.h"
#include "decomposed/encode.h"
#include "decomposed/format/decomposed_schema.h"
#include "decomposed/selected.h"
#include "decomposed/settle.h"
#include "decomposed/state_file.h"
#include "decomposed/waiting.h"
#include "layout/classic_part.h"

namespace forebay::decomposed {

struct NamedPart;

inline OpenState wanted_state(const Method& method) {
  return method.chunk_state == ChunkState::synced ? OpenState::synced : OpenState::newest;
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
  bool keeps(const Variable& var) const override { return is_decomposed(var); }
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
    std::unique_ptr<DataFileWriter> writer;  // on the leader
    /// On the leader: data files of no group that have roots without a commit.
    struct Stale {
      std::shared_ptr<File> file;
      std::vector<int> slots;
    };
    std::vector<Stale> stale;
  };
  void sync_data_files();
  struct Write {  // a blob before its place is known
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
  void define(std::span<const OwnRuns> fresh);           // collective over the group
  void make_group();                                     // collective
  void make_writer();
  void make_io();                                                   // collective over the group
  void open_to_write(std::uint64_t last_epoch, bool damaged_slot);  // collective
  void find_stale(RootsFound& found);
  std::shared_ptr<File> make_file(const std::string& path, bool writable, File::Check check);
  std::shared_ptr<File> make_data_file(std::uint32_t number);
  std::shared_ptr<File> make_state_file(bool writable);

  // decomposed.cc
  void require_readable() const;
  std::vector<Write> writes_of(std::span<Request> requests);
  void add_writes(std::span<const NamedPart> parts, std::vector<Write>& writes);
  void restore_writer();
  // Collective over the group.
  Settled settle_all(std::span<const Item> items, std::span<const Blob> blobs,
                     const ForLeader& beside);
  // Collective over the group. `before` receives the leader's mark before the write, if it has one.
  void append(const std::function<std::span<Request>()>& requests,
              std::optional<DataFileWriter::Mark>* before = nullptr);
  ForLeader new_patterns(std::span<const Write> writes);
  void take_patterns(std::span<const std::byte> patterns);  // on the leader
  void send_patterns(std::vector<std::byte> mine);          // collective over the group
  /// The same on all ranks. If true, blobs may still be queued when a write returns, but not in
  /// publish().
  bool writes_later() const { return site_.later && site_.later->is_open(); }
  void append_uncommitted(std::span<Request> requests);  // collective
  // Collective. `append` appends the data to commit.
  void commit(const std::function<void()>& append);
  void write_state(const State& next);  // collective
  void overrule();                      // collective
  std::uint64_t next_epoch() { return epoch_ = store::next_number(epoch_); }
  void compact(bool mine);  // collective; `mine`: this rank leads a group with a sparse file
  void invert();            // collective
  void read(std::span<Request> requests, bool collective);

  ClassicSite site_;
  Schema& schema_;
  const Comm& comm_;
  std::uint64_t id_ = 0;
  bool begun_ = false;               // the data files exist
  std::optional<Error> unreadable_;  // the same on all ranks
  State state_;                      // as of the last commit; the same on all ranks
  // The file may have a state with a higher epoch, whose data must stay. The same on all ranks.
  bool in_doubt_ = false;
  std::uint64_t epoch_ = 0;                // of the last attempt to commit
  std::uint64_t synced_through_ = 0;       // of the last synced state
  std::unique_ptr<StateFile> state_file_;  // of rank 0
  std::optional<Group> group_;             // of a rank that writes
  bool writer_lost_ = false;               // the leader may not know what its file has
  bool uncommitted_ = false;  // appended data waits for a commit; the same on all ranks
  Selector selector_;
  SlabCodings codings_;
  Reader reader_;
  DistributedIndex dealt_;
  bool names_synced_ = false;
  PathSync path_sync_;
  WaitingWrites waiting_;
  bool still_waiting_ = false;  // handing over waiting writes failed; the same on all ranks
  logged::PatternPacker packer_;
  std::set<Key> given_;                         // patterns that the leader has
  std::uint32_t order_ = 0;                     // of the next write in this commit
  std::vector<std::vector<std::byte>> staged_;  // data of writes that were joined
  Report temporary_report_;                     // of files that only this rank sees

  // For the report.
  std::int64_t commits_ = 0, joined_ = 0;
  std::optional<Error> not_inverted_;
  LossyReport lossy_;  // on leaders; from publish_last() on, on rank 0 alone
};

}  // namespace forebay::decomposed
