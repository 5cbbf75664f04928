// Who visits which windows: ranks those that they have pieces in, and a node those that others have
// pieces in, too, where it writes and reads them.
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
  Count turn = 0;     ///< among those of the sequence that are at home here, or are not
  int ranks = 0;      ///< of this node that have pieces in it
  int nodes = 0;      ///< others that do, where this node writes and reads it
  bool mine = false;  ///< this rank has
  bool home = false;  ///< this node writes and reads it
};

/// Local. All windows of the part, each visited by all ranks of the one node there is.
void visit_all(const WindowGrid& part, int ranks, std::vector<Visit>& visits);

/// Collective. The windows of a part of the grid that ranks of this node visit, in order: a list
/// that is the same for all of them, but for `mine`. `touched`: by this rank; null where `failed`
/// says why it does not know, which all throw; and nothing fails behind that. Cost of a rank: its
/// node's ranks, and the windows of the part; nothing but the way of a reduction grows with the
/// number of nodes. One meeting where windows are few. `comm`: all ranks, or those of the node,
/// which then is home of all windows.
void plan_visits(const Comm& comm, const Topology& topology, const WindowGrid& part,
                 const TouchedWindows* touched, std::optional<Error> failed,
                 std::vector<Visit>& visits);

}  // namespace forebay
