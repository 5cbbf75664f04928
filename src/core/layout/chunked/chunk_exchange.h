// Moves the pieces of requests to the buffers of chunks, and back (Hou 2023, §5.2.6, §5.2.7).
//
// The ranks of a node share the memory for the buffers of all chunks that they own in a round. A
// rank on the owner's node copies its pieces to or from there without a message. For chunks owned
// on another node, each pair of ranks exchanges one message a round. If the ranks of some node
// cannot share enough memory, all pieces are sent as messages from then on.
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
  /// Collective. `ranks_per_node` is as for Comm::split_node.
  Team(const Comm& comm, int ranks_per_node, Report& report);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// The sizes of this rank's node and of the largest one, even if their ranks share no memory.
  int node_size() const { return topology_.node().size(); }
  int largest_node() const { return topology_.largest_node(); }
  int nodes() const { return topology_.nodes(); }
  /// Returns whether this rank shares memory with another.
  bool is_local(Rank rank) const { return group_of(rank) == my_group(); }
  bool same_node(Rank a, Rank b) const { return group_of(a) == group_of(b); }
  /// Hardware threads of the node with fewest, for all its ranks together.
  int processors() const { return processors_; }
  /// Bytes of shared chunks that a rank may use at a time, according to the nodes' memory at the
  /// beginning.
  Count fair_room() const { return fair_room_; }
  /// False once the ranks of some node could not share as much memory as was needed.
  bool shares() const { return shares_; }

  /// Collective. Gives every shared chunk its place in the memory of its owner's node, and
  /// allocates that memory. Each owner has its own part, so that it may prepare its next round
  /// while others still work on theirs. With two `halves`, rounds with shared chunks alternate
  /// between them, so it may do so even while others still read the current half. `op` is sorted by
  /// round. Throws Errc::enomem, on all ranks, if a rank has no memory even for its own chunks.
  void make_room(Operation& op, std::uint32_t halves);
  std::byte* buffer(const PlannedChunk& chunk) { return memory_.data() + chunk.buffer; }
  void node_barrier() {
    if (shares_) topology_.node().barrier();
  }

  using GridOf = std::function<const ChunkGrid&(VarId)>;
  /// Collective; a rank that has failed must call it, too, since others wait for its messages.
  /// Copies this rank's pieces of the round's chunks to their buffers. Buffers must be ready on all
  /// ranks of the node; they are complete after the node's next barrier.
  void scatter(Operation& op, std::uint32_t round, const GridOf& grid);
  /// Collective. The reverse of scatter().
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
  /// The group of ranks that share memory: a node, or one rank.
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
  // For each group: its bytes, and those that the current operation needs. Equal on all ranks.
  std::vector<std::size_t> room_, needed_;
  // For each rank: its needs in its fullest round and in the current one, and where its part
  // begins. They are members since place() must not fail on one rank alone.
  std::vector<std::size_t> size_, used_, begin_;
};

}  // namespace forebay::chunked
