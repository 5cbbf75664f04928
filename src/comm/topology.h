// Topology: which ranks of a communicator are on one node.
//
// Found out once and kept with the communicator: asking again is local. Files that are opened on
// one MPI communicator have duplicates of it, each its own. What was found out for a file that is
// closed by now, the next file takes over, at the price of one meeting.
//
// A topology belongs to one open file at a time. It has a communicator of the node, and a place
// where all ranks meet from then on (comm/meeting_place.h), which no two operations may use at
// once: those of one file come one after another, and of two files each has its own. Two threads
// must not begin to use files of one communicator at once. A little of the memory that ranks of a
// node share for data is kept for the next file: to have it anew, and each page of it in each rank,
// takes longer than a small file does to be written.
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
  /// Collective. `ranks_per_node` as Comm::split_node has it. Lives as long as a copy of `comm`.
  /// Memory and time: O(ranks), however many nodes there are; messages as a gathering of one number
  /// takes them, and a communicator of the nodes' leaders.
  static const Topology& of(const Comm& comm, int ranks_per_node);
  /// Local, the same on all ranks: whether of() is local, too.
  static bool is_known(const Comm& comm, int ranks_per_node);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // -- local; nodes are numbered in the order of their lowest ranks

  int nodes() const { return static_cast<int>(begin_.size()) - 1; }
  int my_node() const { return my_node_; }
  int node_of(Rank rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  int largest_node() const { return largest_; }  ///< how many ranks it has
  /// In ascending order. The first is the node's leader.
  std::span<const Rank> ranks_of(int node) const {
    const auto n = static_cast<std::size_t>(node);
    return std::span(ranks_).subspan(begin_[n], begin_[n + 1] - begin_[n]);
  }
  Rank leader() const { return ranks_of(my_node_).front(); }  ///< of my node; node().is_root()

  /// Collective. Adds `values`, as few as a meeting carries, up over the ranks of each node, in
  /// `of_node`, as many; and then over all nodes what `told`, on one rank of each, makes of these
  /// sums: in one meeting where ranks of a node share memory. `mine`: as Comm::meet has it.
  void sum_by_nodes(const Comm& comm, std::span<std::int64_t> values,
                    std::span<std::int64_t> of_node, const NodeSums& told, Errc mine) const;

  // -- of my node

  /// Its ranks, in the order of ranks_of().
  const Comm& node() const { return node_; }
  /// Its processes, to sleep among.
  Peers& peers() const { return peers_; }
  /// Collective over the node. Memory that its ranks share (comm/node_memory.h), so much at least,
  /// for one user until it is given back. Nobody knows what is in it. None where a rank has no use
  /// for it. Ends in a meeting of them.
  NodeMemory take_memory(std::size_t bytes, bool has_use = true) const;
  /// Local: this rank is done with it.
  void give_back(NodeMemory&& memory) const;

  /// Local. Where the ranks of a communicator meet when they begin with their next file, whoever
  /// has the one of `kept` that it is of. Null where there is none, as with several nodes. Another
  /// thread may be in of() meanwhile, for a file of its own.
  static MeetingPlace* between_files(const Topologies& kept);

  /// What a user leaves for those that come after it on this communicator; theirs to make sense of.
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
  Comm leaders_;  // of the nodes, where they meet in a place
  NodeMemory meetings_;
  mutable std::optional<MeetingPlace> of_all_;  // where nodes have several ranks
  std::optional<MeetingPlace> of_node_;
  std::optional<Peers> peers_between_;  // a thread may begin a file while another one uses one
  mutable std::optional<MeetingPlace> between_files_;
  mutable NodeMemory spare_;
  mutable std::any notes_;
  mutable std::int64_t memories_ = 0;  // made; the same on all ranks of the node
  std::vector<int> node_of_;
  std::vector<Rank> ranks_;         // node by node
  std::vector<std::size_t> begin_;  // of each node in ranks_, and the end
  int my_node_ = 0, largest_ = 0;
};

}  // namespace forebay
