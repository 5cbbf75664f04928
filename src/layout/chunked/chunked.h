// The layout `chunked`: variables cut into chunks, each encoded and stored by its owner (D5 ch. 5).
//
// A collective write (D5 §5.2.6): all ranks tell which chunks they touch; a pure plan gives every
// chunk an owner and a round; in each round pieces go to the owners' buffers, owners encode, all
// learn the sizes and agree on places, owners write. Then the index is published.
//
// A collective read (D5 §5.2.7) goes the same way back, or each rank reads what it needs, whichever
// is cheaper for a variable (plan/chunk_read.h).
//
// Independent reads decode what they touch, through a cache. Independent writes are put off until
// the next collective call, since a chunk has one owner; reads of the same rank see them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "layout/chunked/coder.h"
#include "layout/chunked/deferred.h"
#include "layout/chunked/operation.h"
#include "layout/chunked/store.h"
#include "layout/chunked/team.h"
#include "layout/layout.h"

namespace forebay::chunked {

class ChunkedLayout : public Layout {
 public:
  ChunkedLayout(Schema& schema, ChunkStore& store, ExtentIo& io, const Comm& comm,
                const ChunkOptions& options, Report& report);

  void carry_out(std::span<Request> requests, bool write, bool collective) override;
  void flush() override;
  std::string reasons() const override;

 private:
  using Key = std::pair<VarId, Count>;

  // chunked.cc
  const VariableCoding& coding(VarId var);
  std::unique_ptr<VariableCoding> make_coding(VarId var) const;
  std::span<Request> usable(std::span<Request> requests, std::optional<Error>& refused);
  Team& team();
  TaskTeam& tasks();
  void defer(std::span<Request> requests);
  bool shapes_differ(const std::map<VarId, std::vector<Count>>& before);

  // chunked_shapes.cc
  bool is_open(VarId var) const;
  void settle_shapes(std::span<Request> requests);

  // chunked_write.cc
  void write_together(std::span<Request> requests);
  void write_and_publish(Operation& op);
  void plan(Operation& op, bool write);
  void prepare_rounds(Operation& op, std::span<const std::uint32_t> first,
                      std::vector<Entry>& entries);
  std::optional<Error> write_rounds(Operation& op,
                                    const std::vector<std::vector<std::uint32_t>>& own,
                                    std::span<Entry> entries);
  void prepare_buffers(Operation& op, std::span<const std::uint32_t> own);
  std::vector<StoredChunk> encode(Operation& op, std::span<const std::uint32_t> own, Arena& arena,
                                  bool in_place);
  std::vector<Extent> extents_of(std::span<const StoredChunk> stored,
                                 std::span<const std::uint32_t> own,
                                 std::span<const Entry> entries) const;
  std::span<const std::byte> collect(Operation& op, std::uint32_t chunk, TaskSlot& slot);
  std::optional<Error> agree_on_places(const Operation& op, std::uint32_t round, std::size_t own,
                                       std::span<const StoredChunk> stored,
                                       const std::optional<Error>& mine, std::span<Entry> entries,
                                       std::optional<Error>& lost);
  void take_places(const Operation& op, std::uint32_t round, std::span<const std::byte> told,
                   std::span<const std::int64_t> sizes, std::span<Entry> entries);
  void remember(Operation& op, std::span<const std::uint32_t> own);

  // chunked_read.cc
  void read_together(std::span<Request> requests);
  std::vector<bool> choose_read_plans(const Operation& op);
  /// Throws `failure`, what this rank has met before, on all ranks in the end.
  void read_rounds(Operation& op, std::optional<Error> failure);
  void read_locally(std::span<Request> requests, std::span<const Touch> touches,
                    TouchFinder& finder);
  /// Reads, verifies and decodes chunks into the places given.
  struct Wanted {
    VarId var;
    Count id;
    std::span<std::byte> raw;
  };
  void decode(std::span<const Wanted> wanted);
  class StoredBytes;
  struct LocalRead {
    std::span<const Touch> touches;  // of one chunk
    ChunkCache::Bytes known;         // decoded
    std::ptrdiff_t stored;           // where its bytes are among those that were read; -1: nowhere
  };
  void read_one(std::span<Request> requests, LocalRead& item, const StoredBytes& stored,
                TouchFinder& finder, TaskSlot& slot);
  const std::string& name_of(VarId var) const {
    return schema_.vars[static_cast<std::size_t>(var)].name;
  }

  std::vector<std::vector<std::uint32_t>> own_chunks(const Operation& op) const;

  Schema& schema_;
  ChunkStore& store_;
  ExtentIo& io_;
  const Comm& comm_;
  ChunkOptions options_;
  Report& report_;
  std::unique_ptr<Layout> canonical_;
  bool has_plain_ = false;
  std::size_t open_ = 0;  // chunked variables without a shape; equal on all ranks
  std::vector<std::unique_ptr<VariableCoding>> codings_;
  std::optional<Team> team_;
  std::optional<TaskTeam> tasks_;
  ChunkCache cache_;
  Arena stored_;                 // stored bytes that are being decoded
  std::array<Arena, 2> arenas_;  // encoded chunks of a round, and of the round before

  DeferredWrites deferred_;
  std::vector<Request> deferred_patterns_;  // those to variables without a shape; without data

  // For the report.
  std::int64_t operations_ = 0, most_rounds_ = 0;
  std::int64_t by_owners_ = 0, by_everyone_ = 0;
  double worst_balance_ = 1;
  Count moved_ = 0, local_ = 0;
};

}  // namespace forebay::chunked
