// Simulates the work of ranks and nodes in the collective calls of a workload, in one process. It
// uses the canonical layout and the transport's own rules and messages, one rank (or the ranks of
// one node) after another; nothing is sent or stored. There are no rounds: a window gets one
// message from each other node that has pieces in it, and one answer for a read
// (transport/window_walk.h).
//
// Cost: every rank's pieces are visited once. Memory: the requests of one node's ranks, and a few
// words for each node and each window of an operation. Limits keep it to some GiB; larger cases are
// refused.
#pragma once

#include <optional>
#include <vector>

#include "simulation/rates.h"
#include "simulation/workload.h"
#include "transport/transport.h"

namespace forebay::simulation {

struct Machine {
  int ranks = 1;
  int ranks_per_node = 1;  ///< consecutive ranks; the last node may have fewer
  bool write = true;
  TransportOptions transport;  ///< `striping_unit` is the stripe for counting hand-overs

  static constexpr int most_ranks = 1 << 24, most_per_node = 1 << 10, most_nodes = 1 << 20;
  static constexpr Count most_of_a_stripe = Count{1} << 30;
  int nodes() const { return (ranks - 1) / ranks_per_node + 1; }
};

/// Errc::einval for an impossible machine.
void check(const Machine& machine);

struct NodeFacts {
  Count messages_out = 0, messages_in = 0;
  Count bytes_out = 0, bytes_in = 0;  ///< of messages
  Count windows = 0;                  ///< touched windows whose home is this node
  Count stored = 0;                   ///< bytes that it writes or reads for all nodes
  Count copied = 0;  ///< bytes that its ranks place or copy out, and bytes of messages
};

/// The largest number of bytes that a rank holds.
struct MemoryFacts {
  Count slots = 0;     ///< its share of the node's
  Count mailbox = 0;   ///< messages being sent and received
  Count wishes = 0;    ///< for a read: requests of other nodes that are not answered yet
  Count requests = 0;  ///< its requests and their lists
  Count visits = 0;    ///< windows that its node visits, and the ranks that touch them
  Count direct = 0;    ///< the buffer for its own system calls
  Count all() const { return slots + mailbox + wishes + requests + visits + direct; }
};

struct PlanFacts {
  Count operations = 0;  ///< in which a rank requests something
  Count direct = 0;      ///< of these, in which each rank does its own I/O
  Count bulk = 0;        ///< of these, on a file known to answer slowly (is_slow())
  Count requests = 0, pieces = 0, bytes = 0;
  Count window = 0;   ///< final size of a window in bytes; 0: none was needed
  Count windows = 0;  ///< touched
  Count messages = 0, message_bytes = 0;
  int out_degree = 0, in_degree = 0;  ///< other nodes that a node sends to, or receives from, in
                                      ///< one operation, without answers
  /// How often a stripe passes to another writing node, at least: each node is assumed to write its
  /// part of a stripe at once, in file order. Nothing if the stripe is unknown, and for reads.
  std::optional<Count> hand_overs;
  std::vector<NodeFacts> nodes;
  MemoryFacts memory;
  Prediction predicted;
};

/// Errc::einval for an impossible machine, rates or file, and if too much memory would be needed.
PlanFacts simulate(const Workload& workload, const Machine& machine, const Rates& rates);

}  // namespace forebay::simulation
