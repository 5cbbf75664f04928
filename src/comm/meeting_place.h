// Where ranks meet in memory that those of a node share; of several nodes the leaders then meet by
// messages.
//
// A reduction by messages takes a turn of the scheduler for each of its steps where ranks outnumber
// processors, and here one in all. While it waits a rank lets MPI make progress, and where that
// lasts leaves its core to those who work.
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
  /// Local. `memory`: bytes_for(node.size(), has_rooms) of `node`'s, zeros before its first rank
  /// comes, for this place alone. `leaders`: where node.rank() is 0 and there are other nodes,
  /// whose leaders all have it. All of them outlive this.
  MeetingPlace(std::byte* memory, const Comm& node, Peers& peers, Comm::Backend* leaders,
               bool one_node, bool has_rooms = true);

  /// Collective over all nodes. See Comm::Backend::meet. `mail`: whose messages are looked for.
  void meet(Meeting& meeting, Comm::Backend& mail) { meet_by_nodes(meeting, mail, {}); }
  /// The same in two steps: the node's values, unless a rank of it failed, are what `told` makes of
  /// them. Returns what they were before.
  Meeting meet_by_nodes(Meeting& meeting, Comm::Backend& mail, const NodeSums& told);

  /// Local. What each rank brings to a meeting beside its values, and all read until they come to
  /// the next one: so many bytes of each; none where there are other nodes.
  std::size_t room() const { return one_node_ ? room_ : 0; }
  /// Of each rank in turn, for the next meeting.
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
  std::byte* rooms_;  // for every other meeting the same
  std::size_t room_;
  int rank_, ranks_;
  bool one_node_;
};

}  // namespace forebay
