// The layout `chunked`: variables are cut into chunks, and the owner of a chunk encodes and stores
// it (Hou 2023, chapter 5).
//
// Collective write (Hou 2023, §5.2.6): ranks send the list of chunks that they touch to all ranks,
// or to each chunk's home. A plan, equal on all ranks, gives every chunk an owner and a round. In
// each round, pieces go to the owners' buffers, owners encode, all ranks learn the sizes and agree
// on places, and owners write. Then the index is published. Where sizes decide which data file a
// chunk goes to, no rank learns all sizes to choose files or places (balanced_write.cc).
//
// Collective read (Hou 2023, §5.2.7): the same in reverse, or each rank reads what it needs,
// whichever is cheaper for a variable (plan/chunk_read.h).
//
// Independent reads decode the chunks that they touch, through a cache. Independent writes are
// deferred until the next collective call, since a chunk has one owner; reads of the same rank see
// them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "layout/chunked/chunk_exchange.h"
#include "layout/chunked/chunk_store.h"
#include "layout/chunked/coder.h"
#include "layout/chunked/deferred.h"
#include "layout/chunked/files_beside.h"
#include "layout/chunked/gathered_writes.h"
#include "layout/chunked/homes.h"
#include "layout/chunked/operation.h"
#include "layout/chunked/value_ranges.h"
#include "layout/classic_part.h"
#include "layout/joint_layout.h"
#include "layout/lossy_report.h"
#include "plan/chunk_read.h"

namespace forebay::chunked {

/// The rank that last encoded each chunk, for reports: by variable, then by chunk. -1: none, or
/// beyond `most`.
struct ChunkOwners {
  static constexpr Count most = 1 << 20;  ///< chunks of one variable
  std::vector<std::vector<std::int32_t>> of_variable;

  void note(VarId var, Count chunk, Rank owner) {
    if (chunk >= most) return;
    const auto v = static_cast<std::size_t>(var), c = static_cast<std::size_t>(chunk);
    if (of_variable.size() <= v) of_variable.resize(v + 1);
    if (of_variable[v].size() <= c) of_variable[v].resize(c + 1, -1);
    of_variable[v][c] = owner;
  }
};

struct ChunkOptions {
  Count buffer_limit = 64 << 20;      ///< bytes a rank may hold for chunks and messages
  Count chunk_bytes = 1 << 20;        ///< least size of chosen chunks
  Count cache_bytes = 16 << 20;       ///< of decoded chunks, a rank
  int ranks_per_node = 0;             ///< as for Comm::split_node; 1: messages only
  int codec_threads = 0;              ///< of a rank; 0: its share of the node's processors
  std::optional<ReadPlan> read_plan;  ///< of collective reads; none: the faster one
};

class ChunkedLayout : public HeapPart, public JointLayout {
 public:
  explicit ChunkedLayout(const ClassicSite& site);

  void carry_out(std::span<Request> requests, bool write, bool collective) override;
  void flush() override;
  std::string reasons() const override;
  NamedOwners owners() const override;
  ByteRange in_place(std::span<const Request> /*writes*/) const override { return {}; }
  ForJoint for_joint(std::span<Request> writes) override;
  void write_all(const Comm& comm, std::span<const Share> shares, Report& report) override;

  // definitions.cc
  HeapPart* heap() override { return apart_ ? nullptr : this; }
  bool keeps(const Variable& var) const override { return var.chunking.has_value(); }
  void choose(const Schema* old, const KeptElsewhere& elsewhere) override;
  Schema stored(const Schema& schema) const override;
  Schema take_over(Schema stored) override;
  Alignment place(Schema stored, const Schema* old, const Alignment& wanted) override;
  std::optional<Offset> end() const override;
  std::vector<std::byte> placed() const override;
  void take_over_placed(std::span<const std::byte> placed) override;
  void make_files() override;
  void start(const Schema* old, const std::function<void(const Move&)>& relocate) override;
  bool load(Count in_header) override;
  bool header_is_old() const override;
  void header_written() override;
  void publish() override { store_.publish(); }
  void publish_last() override;
  void synced() override;
  void fill_record(VarId var, Count record) override;
  void meet() override {
    if (files_) files_->meet();
  }
  void release() override {
    if (files_) files_->release();
  }
  void close() override {
    if (files_) files_->close();
  }

 protected:
  // For layouts whose chunks lie in a file format with an index of its own.
  /// Local. Returns what the chunks of a variable need, at a coarser level if not 0.
  virtual VariableCoding make_coding_of(VarId var, int level) const;
  /// Local. Turns a copied request for a joint write as carry_out() turns it.
  virtual void turn_request(Request& /*request*/) const {}
  void renew_codings();
  ChunkStore& store() { return store_; }
  const Schema& schema() const { return schema_; }
  void has_begun() { begun_ = true; }

 private:
  using Key = std::pair<VarId, Count>;

  // definitions.cc

  // compact.cc
  void compact();      // collective
  bool move_chunks();  // collective; returns whether any were moved

  // chunked.cc
  const VariableCoding& coding(VarId var);
  /// The entry of a chunk's first part, which exists if any part does.
  const Entry& first_entry(VarId var, Count id) {
    const VariableCoding& v = coding(var);
    return file_of(var).store_.table(var).get(v.entry(id, 0));
  }
  std::span<Request> usable(std::span<Request> requests, std::optional<Error>& refused);
  Team& team();
  TaskTeam& tasks();
  void defer(std::span<Request> requests);
  bool shapes_differ(const std::map<VarId, std::vector<Count>>& before);

  // chunked_shapes.cc
  bool is_open(VarId var) const;
  struct FileWrites {
    ChunkedLayout* file;
    std::span<const Request> writes;
  };
  static void settle_shapes(const Comm& comm, std::span<const FileWrites> all);

  // joint_write.cc
  ChunkedLayout& file_of(VarId& var);
  const Variable& variable(VarId var) {
    ChunkedLayout& file = file_of(var);
    return file.schema_.vars[static_cast<std::size_t>(var)];
  }
  std::vector<ChunkStore::Changed> changed_stores();

  // chunked_write.cc
  /// Equal on all ranks. Chunks may still be queued when a write returns; publish() is called when
  /// they are written.
  bool writes_later() const { return site_.later && site_.later->is_open(); }
  void write_together(std::span<Request> requests);
  void note_range(const Request& write, ValueRanges& ranges);
  void write_and_publish(Operation& op, ValueRanges ranges);
  void plan(Operation& op, bool write);
  void note_owners(const Operation& op, const CostOf& cost);
  /// The new entries of an operation's chunks, one for each part of each chunk.
  struct Entries {
    std::vector<Entry> list;
    std::vector<std::size_t> first;  // entry of each chunk, and one past the last

    std::span<Entry> of(std::size_t chunk) {
      return std::span(list).subspan(first[chunk], first[chunk + 1] - first[chunk]);
    }
    std::span<const Entry> of(std::size_t chunk) const {
      return std::span(list).subspan(first[chunk], first[chunk + 1] - first[chunk]);
    }
  };
  /// What the owner of a chunk sends to all ranks for each of its parts. Before these, each rank
  /// sends one with the code of its error.
  struct Told {
    std::int64_t code_or_file = 0;  ///< the file, as in entries, only if files are balanced
    Count bytes = 0;
    std::uint64_t hash = 0;
    std::uint64_t skipped = 0;  ///< with StoredChunk::bound, from this bit on:
    static constexpr int bound_bit = 32;

    static Told of(const StoredChunk& part, std::uint32_t file);
  };
  /// An operation whose chunks go to files by their sizes.
  struct BalancedWrite {
    FileSpace space;  ///< of this rank's file, with the places that this operation has found
    std::vector<std::vector<Told>> told;     ///< this rank's, for each round
    std::vector<std::vector<Offset>> found;  ///< places of this rank's parts with bytes, likewise
    std::optional<GatheredWrites> gathered;  ///< of this round
  };
  void prepare_rounds(Operation& op, std::span<const std::uint32_t> first, Entries& entries,
                      std::optional<BalancedWrite>& balanced);
  std::optional<Error> write_rounds(Operation& op,
                                    const std::vector<std::vector<std::uint32_t>>& own,
                                    const ValueRanges& ranges, Entries& entries,
                                    std::optional<BalancedWrite>& balanced);
  void prepare_buffers(Operation& op, std::span<const std::uint32_t> own);
  using MissingRules = std::map<VarId, std::shared_ptr<const MissingRule>>;
  ChunkInfo info_of(const Operation& op, std::uint32_t chunk, const ValueRanges& ranges,
                    const MissingRules& rules);
  std::vector<StoredChunk> encode(Operation& op, std::span<const std::uint32_t> own,
                                  const ValueRanges& ranges, const Entries& entries, Arena& arena,
                                  bool in_place);
  /// Extents of a file, and the I/O that writes them.
  using FileExtents = std::pair<ExtentIo*, std::vector<Extent>>;
  std::vector<FileExtents> extents_of(const Operation& op, std::span<const StoredChunk> stored,
                                      std::span<const std::uint32_t> own, const Entries& entries);
  std::span<const std::byte> collect(Operation& op, std::uint32_t chunk, TaskSlot& slot);
  std::vector<std::int64_t> bytes_told(const Operation& op, std::uint32_t round,
                                       const Entries& entries) const;
  std::optional<Error> agree_on_places(const Operation& op, std::uint32_t round,
                                       std::span<const StoredChunk> stored,
                                       const std::optional<Error>& mine, Entries& entries,
                                       std::optional<Error>& lost);
  void take_places(const Operation& op, std::uint32_t round, std::span<const std::byte> told,
                   std::span<const std::int64_t> sizes, Entries& entries);

  // balanced_write.cc
  /// Local. Nothing if files are not balanced.
  void begin_balanced(const Operation& op, std::optional<BalancedWrite>& balanced) const;
  std::optional<Error> begin_windows(const Operation& op, std::uint32_t round,
                                     std::span<const std::uint32_t> own,
                                     std::span<const StoredChunk> stored,
                                     const std::optional<Error>& mine, const Entries& entries,
                                     BalancedWrite& balanced);
  void place_round(const Operation& op, std::uint32_t round, std::span<const std::uint32_t> own,
                   std::span<const StoredChunk> stored, const Entries& entries,
                   BalancedWrite& balanced);
  /// Returns the file of each of this rank's chunks, from 0.
  std::vector<std::uint32_t> files_of_own(const Operation& op, std::span<const std::uint32_t> own,
                                          std::span<const StoredChunk> stored,
                                          const Entries& entries);
  void tell_places(const Operation& op, const std::vector<std::vector<std::uint32_t>>& own,
                   const BalancedWrite& balanced, Entries& entries);
  void remember(Operation& op, std::span<const std::uint32_t> own);

  // chunked_read.cc
  /// Both throw `failed`, an earlier error of this rank, on all ranks at the end.
  void read_together(std::span<Request> requests, std::optional<Error> failed);
  void read_level(Request& request);
  std::vector<bool> choose_read_plans(const Operation& op);
  void read_rounds(Operation& op, std::optional<Error> failure);
  void read_locally(std::span<Request> requests, std::span<const Touch> touches,
                    TouchFinder& finder);
  /// A chunk to read, verify and decode into the given memory.
  struct Wanted {
    VarId var;
    Count id;
    std::span<std::byte> raw;
    Operation::Kept* kept = nullptr;  // gets the bounds of the stored values
  };
  void decode(std::span<const Wanted> wanted, TaskTeam& team);
  class StoredBytes;
  struct LocalRead {
    std::span<const Touch> touches;  // of one chunk
    ChunkCache::Bytes known;         // decoded, if cached
    std::ptrdiff_t stored;           // index of its stored bytes among those read; -1: none
  };
  void read_one(std::span<Request> requests, LocalRead& item, const StoredBytes& stored,
                TouchFinder& finder, TaskSlot& slot);
  const std::string& name_of(VarId var) const {
    return schema_.vars[static_cast<std::size_t>(var)].name;
  }

  std::vector<std::vector<std::uint32_t>> own_chunks(const Operation& op) const;
  /// The I/O for the chunks that this rank writes, if any.
  ExtentIo& chunk_io() { return files_ && files_->writes() ? files_->io() : io_; }

  ClassicSite site_;
  Schema& schema_;
  ExtentIo& io_;
  const Comm& comm_;
  Report& report_;
  ChunkOptions options_;
  ChunkStore store_;
  bool apart_;                          // chunks are in files beside this one, or will be
  std::uint64_t id_ = 0;                // of those files
  std::unique_ptr<FilesBeside> files_;  // once the files exist
  bool begun_ = false;                  // the file has an index
  Offset root_ = 0;                     // position of the root slots
  Count move_ = 0;                      // how far redefinition moves the data after the header
  std::int64_t shapes_in_header_ = 0;   // number of chosen shapes in the header
  Report temporary_report_;             // of files that only this rank sees
  std::optional<ChunkOwners> owners_;   // for a report in JSON, on rank 0
  std::size_t open_ = 0;                // chunked variables without a shape; equal on all ranks
  std::vector<std::unique_ptr<VariableCoding>> codings_;
  std::optional<Team> team_;
  std::optional<TaskTeam> tasks_;
  ChunkCache cache_;
  Arena stored_;                 // stored bytes that are being decoded
  std::array<Arena, 2> arenas_;  // encoded chunks of this round and of the previous one

  DeferredWrites deferred_;
  ValueRanges deferred_ranges_;
  std::vector<Request> deferred_patterns_;  // writes to variables without a shape; without data

  /// For an operation on several files, this object belongs to none of them: the files, and the
  /// number that the first variable of each file has here.
  struct Joined {
    ChunkedLayout* file;
    VarId first;
    bool last;
  };
  std::vector<Joined> joined_;

  // For the report.
  LossyReport lossy_;
  std::int64_t operations_ = 0, most_rounds_ = 0;
  std::int64_t by_owners_ = 0, by_everyone_ = 0;
  double worst_balance_ = 1;
  Count moved_ = 0, local_ = 0;
};

}  // namespace forebay::chunked
