// A place for reductions in memory that the ranks of a node share. If there are several nodes,
// their leaders then reduce by messages.
//
// Where ranks outnumber processors, a reduction by messages takes a turn of the scheduler for each
// of its steps; here it takes one in all. A waiting rank lets MPI make progress. If it waits for
// long, it leaves its core to ranks that work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "comm/backend.h"
#include "comm/peers.h"

namespace forebay {

class MeetingPlace {
 public:
  static std::size_t bytes_for(int ranks, bool has_rooms = true);
  /// Local. `memory`: bytes_for(node.size(), has_rooms) bytes of `node`'s shared memory, for this
  /// place alone, zero before its first rank comes. `leaders`: set if node.rank() is 0 and there
  /// are other nodes; all their leaders have it. All of them outlive this object.
  MeetingPlace(std::byte* memory, const Comm& node, Peers& peers, Comm::Backend* leaders,
               bool one_node, bool has_rooms = true);

  /// Collective over all nodes. See Comm::Backend::meet. Messages of `mail` progress meanwhile.
  void meet(Meeting& meeting, Comm::Backend& mail) { meet_by_nodes(meeting, mail, {}); }
  /// Does the same in two steps: `told` turns the sums of a node into its contribution, unless a
  /// rank of the node has failed. Returns the sums before that.
  Meeting meet_by_nodes(Meeting& meeting, Comm::Backend& mail, const NodeSums& told);

  /// Local. Returns how many bytes each rank may contribute to a reduction beside its values; 0 if
  /// there are other nodes. All ranks may read them until they come to the next reduction.
  std::size_t room() const { return one_node_ ? room_ : 0; }
  /// Returns the bytes of all ranks, in rank order, for the next reduction.
  std::byte* rooms() const;

 private:
  struct State;
  void add_up(const NodeSums& told);
  void wait(std::atomic<std::uint32_t>& round, std::uint32_t seen, Comm::Backend& mail);
  static void tell(std::atomic<std::uint32_t>& round, std::uint32_t seen);

  State& state_;
  Meeting* of_ranks_;
  Peers& peers_;
  Comm::Backend* leaders_;
  std::byte* rooms_;  // two sets, used in turn
  std::size_t room_;
  int rank_, ranks_;
  bool one_node_;
};

}  // namespace forebay
