// What ranks and nodes would do in the collective calls of a workload, counted by one process: the
// canonical layout and the transport's own rules and messages, one rank, or the ranks of one node,
// after another, and nothing sent or stored. There are no rounds to count: a window has one message
// from each other node that has pieces in it, and one answer for a read (transport/window_walk.h).
//
// Cost: every rank's pieces are walked once; memory, what the ranks of one node ask for, a few
// words for each node and each window of an operation. All of that has limits, so that it takes
// some GiB at most: what is beyond them is refused.
#pragma once

#include <optional>
#include <vector>

#include "simulation/rates.h"
#include "simulation/workload.h"
#include "transport/transport.h"

namespace forebay::simulation {

struct Machine {
  int ranks = 1;
  int ranks_per_node = 1;  ///< neighbours; the last node may have fewer
  bool write = true;
  TransportOptions transport;  ///< `striping_unit` is the stripe that hand-overs are counted of

  static constexpr int most_ranks = 1 << 24, most_per_node = 1 << 10, most_nodes = 1 << 20;
  static constexpr Count most_of_a_stripe = Count{1} << 30;
  int nodes() const { return (ranks - 1) / ranks_per_node + 1; }
};

/// Errc::einval for a machine that cannot be.
void check(const Machine& machine);

struct NodeFacts {
  Count messages_out = 0, messages_in = 0;
  Count bytes_out = 0, bytes_in = 0;  ///< of messages
  Count windows = 0;                  ///< at home there that somebody touches
  Count stored = 0;                   ///< bytes that it writes or reads for all
  Count copied = 0;  ///< bytes placed, or copied out, by its ranks, and of messages
};

/// Bytes that the fullest rank holds at most.
struct MemoryFacts {
  Count slots = 0;     ///< its share of the node's
  Count mailbox = 0;   ///< letters under way and messages that come
  Count wishes = 0;    ///< of a read: what other nodes wish for and have not been sent
  Count requests = 0;  ///< its requests and their lists
  Count visits = 0;    ///< windows that its node visits, and who touches them
  Count direct = 0;    ///< the buffer of what it writes or reads for itself
  Count all() const { return slots + mailbox + wishes + requests + visits + direct; }
};

struct PlanFacts {
  Count operations = 0;  ///< in which some rank asks for something
  Count direct = 0;      ///< of them, where each rank reads or writes for itself
  Count bulk = 0;        ///< of them, on a file that is known to answer slowly (is_slow())
  Count requests = 0, pieces = 0, bytes = 0;
  Count window = 0;   ///< bytes of a window in the end; 0: none was needed
  Count windows = 0;  ///< touched
  Count messages = 0, message_bytes = 0;
  int out_degree = 0, in_degree = 0;  ///< other nodes that a node sends to, or that send to it, in
                                      ///< one operation, without answers
  /// How often a stripe goes on to another writing node, at least: as if each node wrote what it
  /// has of a stripe at once, in file order. Nothing where no stripe is known, or for reads.
  std::optional<Count> hand_overs;
  std::vector<NodeFacts> nodes;
  MemoryFacts memory;
  Prediction predicted;
};

/// Errc::einval for a machine, rates or a file that cannot be, and for what needs too much memory.
PlanFacts simulate(const Workload& workload, const Machine& machine, const Rates& rates);

}  // namespace forebay::simulation
