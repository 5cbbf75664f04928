// What aggregation decides before any data moves, as functions of what all ranks ask for together.
// The transport carries it out; a simulation counts it.
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
  /// Adds what another rank asks for.
  void add(const StreamSummary& rank);
};

/// The nodes that ranks are on.
struct NodeCounts {
  int ranks = 1, nodes = 1;
  bool share_memory = true;  ///< whether the ranks of a node do
};

/// Slots of a node (slots.h) that are used in turn: `home` for windows that it writes and reads,
/// `away` for those of other nodes. Each kind has its own ring: home windows come at regular
/// distances, and would all use the same few slots of a common one.
struct RingSizes {
  int home = 0, away = 0;
  constexpr int all() const { return home + away; }
};
/// The least sizes.
constexpr RingSizes least_rings(const NodeCounts& nodes) {
  return nodes.nodes == 1 ? RingSizes{8, 0} : RingSizes{3, 3};
}
constexpr int most_away = 8;
/// Adds what `buffer_limit` has room for. To read a window of another node takes a wish and an
/// answer. With many windows under way, a node waits once for many.
RingSizes ring_sizes(const NodeCounts& nodes, const TransportOptions& options, Count window);

/// Returns whether each rank reads or writes for itself.
bool carried_out_directly(const OperationTotal& total, const NodeCounts& nodes,
                          const TransportOptions& options, bool write);

/// Returns whether each rank reads for itself, and ahead, if all read the piece behind their last.
bool each_reads_on(const OperationTotal& total, const NodeCounts& nodes,
                   const TransportOptions& options);

/// Returns whether an operation that is not direct is worth trying both ways (path_tuner.h).
bool may_try_directly(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, bool write);

/// Returns whether direct writes are done by nodes: pieces of a node's ranks may adjoin, and are
/// joined in the node's memory before it writes them.
bool nodes_write_apart(const OperationTotal& total, const NodeCounts& nodes, bool write);

/// Returns how many windows a try has; 0: as many as the operation.
Count windows_of_a_try(const WindowGrid& grid);

/// Returns the bytes of a window. `before` is the size in the last operation; windows only grow.
Count window_size_for(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, Count before);

/// Returns the windows of an operation and the nodes that they are distributed to.
WindowGrid window_grid_for(const OperationTotal& total, const NodeCounts& nodes,
                           const TransportOptions& options, Count window);

/// Returns how many processes of a node read or write windows at a time, at most; 0: all. Nodes are
/// numbered as windows are distributed to them.
int callers_of_node(const NodeCounts& nodes, const TransportOptions& options, int node);

/// Returns how many bytes of messages a rank may have under way (Mailbox).
constexpr Count mailbox_limit(const TransportOptions& options) { return options.buffer_limit / 4; }

}  // namespace forebay
