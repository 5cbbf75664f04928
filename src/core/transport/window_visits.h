// Which ranks and nodes visit which windows. A rank visits those in which it has pieces. A node
// also visits those that it writes and reads for other nodes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/topology.h"
#include "plan/windows.h"

namespace forebay {

struct Visit {
  Count window = 0;
  Count turn = 0;     ///< among the windows of the sequence that are at home here, or are not
  int ranks = 0;      ///< of this node that have pieces in it
  int nodes = 0;      ///< others that have pieces in it, if it is at home here
  bool mine = false;  ///< this rank has pieces in it
  bool home = false;  ///< this node writes and reads it
};

/// Local. Returns all windows of the part, each visited by all ranks of the only node.
void visit_all(const WindowGrid& part, int ranks, std::vector<Visit>& visits);

/// Collective. Returns the windows of a part of the grid that ranks of this node visit, in order.
/// The list is the same on all of them, except for `mine`. `touched` has this rank's windows. It is
/// null if `failed` says why they are unknown; all ranks throw that. Nothing fails after that. Cost
/// of a rank: its node's ranks, and the windows of the part. Only the steps of a reduction grow
/// with the number of nodes. One reduction if windows are few. `comm`: all ranks, or those of the
/// node, which is then home of all windows.
void plan_visits(const Comm& comm, const Topology& topology, const WindowGrid& part,
                 const TouchedWindows* touched, std::optional<Error> failed,
                 std::vector<Visit>& visits);

}  // namespace forebay
