// Topology tells which ranks of a communicator are on one node.
//
// It is found out once and kept with the communicator, so that asking again is local. Each file
// opened on an MPI communicator has its own duplicate of it. The next file takes over the topology
// of a closed file, at the cost of one reduction.
//
// A topology belongs to one open file at a time. It has a communicator of the node, and a place for
// the reductions of all ranks (comm/meeting_place.h). No two operations may use the place at once:
// those of one file come one after another, and each file has its own. Two threads must not begin
// to use files of one communicator at once. A little of the shared memory for data is kept for the
// next file: to allocate it, and each of its pages in each rank, takes longer than writing a small
// file.
#pragma once

#include <any>
#include <optional>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "comm/meeting_place.h"
#include "comm/node_memory.h"
#include "comm/peers.h"

namespace forebay {

class Topology {
 public:
  /// Collective. `ranks_per_node` is as in Comm::split_node. The result lives as long as a copy of
  /// `comm`. Costs O(ranks) memory and time for any number of nodes, the messages of a gather of
  /// one number, and a communicator of the nodes' leaders.
  static const Topology& of(const Comm& comm, int ranks_per_node);
  /// Local, the same on all ranks. Returns whether of() would be local, too.
  static bool is_known(const Comm& comm, int ranks_per_node);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // -- local; nodes are numbered in the order of their lowest ranks

  int nodes() const { return static_cast<int>(begin_.size()) - 1; }
  int my_node() const { return my_node_; }
  int node_of(Rank rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  int largest_node() const { return largest_; }  ///< number of its ranks
  /// Returns a node's ranks in ascending order. The first is the node's leader.
  std::span<const Rank> ranks_of(int node) const {
    const auto n = static_cast<std::size_t>(node);
    return std::span(ranks_).subspan(begin_[n], begin_[n + 1] - begin_[n]);
  }
  Rank leader() const { return ranks_of(my_node_).front(); }  ///< of my node; node().is_root()

  /// Collective. Sums `values` (that fit into one reduction) over the ranks of each node into
  /// `of_node`. `told`, on one rank of each node, turns these sums into values that are summed over
  /// all nodes. Takes one reduction if a node's ranks share memory. `mine` is as in Comm::meet.
  void sum_by_nodes(const Comm& comm, std::span<std::int64_t> values,
                    std::span<std::int64_t> of_node, const NodeSums& told, Errc mine) const;

  // -- of my node

  /// Returns its ranks, in the order of ranks_of().
  const Comm& node() const { return node_; }
  /// Returns its processes, among which a rank may sleep.
  Peers& peers() const { return peers_; }
  /// Collective over the node. Returns at least `bytes` of shared memory (comm/node_memory.h) for
  /// one user until it is given back. Its content is undefined. Returns none if a rank has no use
  /// for it. Ends with a reduction of the node.
  NodeMemory take_memory(std::size_t bytes, bool has_use = true) const;
  /// Local. Gives back memory that this rank no longer uses.
  void give_back(NodeMemory&& memory) const;

  /// Local. Returns the place where the ranks of a communicator reduce when they begin their next
  /// file, whoever uses the topology of `kept` that has it. Null if there is none, as with several
  /// nodes. Another thread may be in of() meanwhile, for a file of its own.
  static MeetingPlace* between_files(const Topologies& kept);

  /// Notes of a user for later users of this communicator. Only they know the meaning.
  std::any& notes() const { return notes_; }

  static constexpr std::size_t most_kept = 32 << 20;  ///< bytes, of all topologies

 private:
  Topology(const Comm& comm, int ranks_per_node);
  void make_places(const Comm& comm);
  void serve(const Comm& comm) const;
  void drop_spare() const;

  int ranks_per_node_;
  Comm node_;
  mutable Peers peers_;
  Comm leaders_;  // of the nodes; set if they reduce in a place
  NodeMemory meetings_;
  mutable std::optional<MeetingPlace> of_all_;  // set if a node has several ranks
  std::optional<MeetingPlace> of_node_;
  std::optional<Peers> peers_between_;  // another thread may use a file meanwhile
  mutable std::optional<MeetingPlace> between_files_;
  mutable NodeMemory spare_;
  mutable std::any notes_;
  mutable std::int64_t memories_ = 0;  // how many were made; the same on all ranks of the node
  std::vector<int> node_of_;
  std::vector<Rank> ranks_;         // node by node
  std::vector<std::size_t> begin_;  // of each node in ranks_, and the end
  int my_node_ = 0, largest_ = 0;
};

}  // namespace forebay
