// What aggregation decides before anything moves, as functions of what all ranks ask for together:
// the transport carries it out, a simulation counts it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"
#include "plan/windows.h"
#include "transport/transport.h"

namespace forebay {

/// What all ranks together ask for in one collective operation; equal on every rank.
struct OperationTotal {
  Offset first = 0, last = 0;
  Count bytes = 0, pieces = 0;

  Count mean_piece() const { return bytes / std::max<Count>(pieces, 1); }
  /// With what another rank asks for.
  void add(const StreamSummary& rank);
};

/// The nodes that ranks are on.
struct NodeCounts {
  int ranks = 1, nodes = 1;
  bool share_memory = true;  ///< ranks of a node
};

/// Slots of a node (slots.h) that go round for windows which it writes and reads, and for those
/// that others do. Each kind for itself: windows at home come at regular distances, and would all
/// meet in the same few.
struct RingSizes {
  int home = 0, away = 0;
  constexpr int all() const { return home + away; }
};
/// That there are in any case.
constexpr RingSizes least_rings(const NodeCounts& nodes) {
  return nodes.nodes == 1 ? RingSizes{8, 0} : RingSizes{3, 3};
}
constexpr int most_away = 8;
/// With those that `buffer_limit` has room for. What a node reads of others' windows takes a wish
/// and an answer for each: with many under way it waits once for many.
RingSizes ring_sizes(const NodeCounts& nodes, const TransportOptions& options, Count window);

/// Whether each rank reads or writes for itself.
bool carried_out_directly(const OperationTotal& total, const NodeCounts& nodes,
                          const TransportOptions& options, bool write);

/// Whether each rank reads for itself, and ahead, where all read one piece behind their last.
bool each_reads_on(const OperationTotal& total, const NodeCounts& nodes,
                   const TransportOptions& options);

/// Whether an operation that is not is worth trying both ways (quicker_way.h).
bool may_try_directly(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, bool write);

/// Whether what goes directly does so by nodes: their ranks' pieces may adjoin, and meet in the
/// node's memory before it writes them.
bool nodes_write_apart(const OperationTotal& total, const NodeCounts& nodes, bool write);

/// How many windows a try has; 0: as many as the operation.
Count windows_of_a_try(const WindowGrid& grid);

/// Bytes of a window. `before`: of the operation before; windows only grow.
Count window_size_for(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, Count before);

/// The windows of an operation and the nodes that they are dealt to.
WindowGrid window_grid_for(const OperationTotal& total, const NodeCounts& nodes,
                           const TransportOptions& options, Count window);

/// Processes of a node that read or write windows at a time, at most; 0: all. Nodes are numbered
/// as windows are dealt to them.
int callers_of_node(const NodeCounts& nodes, const TransportOptions& options, int node);

/// Bytes of messages that a rank may have under way (Mailbox).
constexpr Count mailbox_limit(const TransportOptions& options) { return options.buffer_limit / 4; }

}  // namespace forebay
