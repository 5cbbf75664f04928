// How the pieces of requests reach the buffers of chunks, and come back (D5 §5.2.6, §5.2.7).
//
// The buffers of all chunks that the ranks of a node own in a round lie in memory that these ranks
// share: whoever is on the owner's node puts its pieces there, or takes them from there, without a
// message. For chunks owned on another node each pair of ranks exchanges one message a round. Where
// the ranks of some node cannot share so much memory, all pieces go by messages from then on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "array/chunk_grid.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "comm/node_memory.h"
#include "comm/topology.h"
#include "layout/chunked/operation.h"

namespace forebay::chunked {

/// Copies a request's pieces of a chunk from the request's memory to the chunk, whose elements are
/// in external form or `native`.
void put_pieces(const ChunkPieces& pieces, const Request& request, bool native, std::byte* chunk);

class Team {
 public:
  /// Collective. `ranks_per_node` as Comm::split_node has it.
  Team(const Comm& comm, int ranks_per_node, Report& report);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Of the node that this rank is on, and of the largest one, whether they share memory or not.
  int node_size() const { return topology_.node().size(); }
  int largest_node() const { return topology_.largest_node(); }
  int nodes() const { return topology_.nodes(); }
  /// Whether ranks share memory.
  bool is_local(Rank rank) const { return group_of(rank) == my_group(); }
  bool same_node(Rank a, Rank b) const { return group_of(a) == group_of(b); }
  /// Hardware threads of the node that has fewest, for all its ranks together.
  int processors() const { return processors_; }
  /// Bytes a rank that shared chunks may take at a time, by the memory that nodes had to begin
  /// with.
  Count fair_room() const { return fair_room_; }
  /// False once the ranks of a node could not share as much memory as was needed.
  bool shares() const { return shares_; }

  /// Collective. Gives every shared chunk its place in the memory of its owner's node, and makes
  /// room. Each owner has a part of its own, so that it may prepare its next round while
  /// others still work on theirs; with two `halves`, used in turn by the rounds that share chunks,
  /// even while they still read this one's. `op` is sorted by round.
  /// Throws Errc::enomem, on all ranks, where a rank has no memory even for its own chunks.
  void make_room(Operation& op, std::uint32_t halves);
  std::byte* buffer(const PlannedChunk& chunk) { return memory_.data() + chunk.buffer; }
  void node_barrier() {
    if (shares_) topology_.node().barrier();
  }

  using GridOf = std::function<const ChunkGrid&(VarId)>;
  /// Collective, whatever fails on a rank: others wait for it without a meeting. This rank's pieces
  /// of the round's chunks go to their buffers. Buffers must be ready on all ranks of the node;
  /// complete once the ranks of the node have met again.
  void scatter(Operation& op, std::uint32_t round, const GridOf& grid);
  /// Collective. The reverse.
  void gather(Operation& op, std::uint32_t round, const GridOf& grid);

 private:
  template <typename F>
  void for_each_touch(Operation& op, std::uint32_t round, bool local, F&& f);
  std::vector<std::vector<std::byte>> one_for_each_rank() const;
  std::vector<Message> messages_of(std::vector<std::vector<std::byte>>& to);
  void unpack(std::span<const std::byte> message, Operation& op);
  Message answer(Rank to, std::span<const std::byte> wish, const Operation& op);
  void take_answer(Rank from, std::span<const std::byte> bytes, Operation& op, std::uint32_t round,
                   const GridOf& grid);
  /// Of ranks that share memory: a node, or one rank.
  std::size_t group_of(Rank rank) const {
    return static_cast<std::size_t>(shares_ ? topology_.node_of(rank) : rank);
  }
  std::size_t my_group() const { return group_of(comm_.rank()); }
  void place(Operation& op, std::uint32_t halves);
  bool grow();
  void part();

  const Comm& comm_;
  Report& report_;
  const Topology& topology_;
  int processors_ = 1;
  Count fair_room_ = 0;
  bool shares_ = true;
  NodeMemory memory_;
  // Of each group: its bytes, and what the operation at hand needs. Equal on all ranks.
  std::vector<std::size_t> room_, needed_;
  // Of each rank, for place(), which must not fail on one rank alone: what it needs in its fullest
  // round and in the one looked at, and where its part begins.
  std::vector<std::size_t> size_, used_, begin_;
};

}  // namespace forebay::chunked
