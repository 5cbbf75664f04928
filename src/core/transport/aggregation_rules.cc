#include "transport/aggregation_rules.h"

#include <algorithm>

#include "transport/path_tuner.h"

namespace forebay {

namespace {

constexpr Count smallest_window = 64 << 10;
constexpr Count cached_window = 512 << 10;
constexpr Count alike_window = 1 << 20;  // wakes ranks that outnumber cores half as often
constexpr Count shipped_window = 1 << 20;
constexpr Count most_of_a_window = 1 << 30;  // an MPI message counts its bytes in an int
constexpr Count bulk_window = 1 << 20, bulk_write_piece = 4 << 20, bulk_read_piece = 512 << 10;

// Above these sizes, a piece is worth a system call of its own (docs/performance.md). Between
// nodes, locks of a file system make interleaved writers expensive, so pieces must be larger there.
constexpr Count direct_piece_on_one_node = 16 << 10;
constexpr Count few_pieces = 2;  // of a rank, on average
constexpr Count direct_write_piece = 256 << 10;
constexpr Count direct_read_piece = 128 << 10;

// Returns whether ranks read the same bytes, so that one read can serve them.
bool reads_alike(const OperationTotal& total, const TransportOptions& options) {
  return options.sharing == Sharing::alike ||
         total.bytes > (total.last - total.first) + (total.last - total.first) / 2;
}

int homes_of(const NodeCounts& nodes, const TransportOptions& options) {
  return options.aggregators > 0 ? std::min(nodes.nodes, options.aggregators) : nodes.nodes;
}

}  // namespace

int callers_of_node(const NodeCounts& nodes, const TransportOptions& options, int node) {
  if (options.aggregators == 0) return options.aggregators_of_node;
  const int homes = homes_of(nodes, options);
  const int share = options.aggregators / homes + (node < options.aggregators % homes ? 1 : 0);
  return options.aggregators_of_node > 0 ? std::min(share, options.aggregators_of_node) : share;
}

void OperationTotal::add(const StreamSummary& rank) {
  if (rank.empty()) return;
  first = bytes == 0 ? rank.first : std::min(first, rank.first);
  last = bytes == 0 ? rank.last : std::max(last, rank.last);
  bytes += rank.bytes;
  pieces += rank.pieces;
}

// Ranks that interleave finely need aggregation. If the average piece is worth a system call,
// moving it through another rank's buffer only costs, unless ranks read the same bytes: then one
// read can serve them.
bool carried_out_directly(const OperationTotal& total, const NodeCounts& nodes,
                          const TransportOptions& options, bool write) {
  if (options.kind == "aggregated") return false;
  if (nodes.ranks == 1 || (!write && options.sharing == Sharing::apart)) return true;
  const Count piece = total.mean_piece();
  if (write && options.bulk) return piece >= bulk_write_piece;
  const bool one_node = nodes.nodes == 1;
  // The kernel's cache belongs to the node and reads for all. A few calls cost less than a copy.
  if (!write && one_node && !options.bulk && total.pieces <= few_pieces * nodes.ranks) return true;
  if (write) return piece >= (one_node ? direct_piece_on_one_node : direct_write_piece);
  const Count worth_a_call = options.bulk ? bulk_read_piece
                             : one_node   ? direct_piece_on_one_node
                                          : direct_read_piece;
  return piece >= worth_a_call && !reads_alike(total, options);
}

// If ranks read the same bytes from a store, one call can serve them.
bool each_reads_on(const OperationTotal& total, const NodeCounts& nodes,
                   const TransportOptions& options) {
  return !reads_alike(total, options) || carried_out_directly(total, nodes, options, false);
}

// Within a node, memory is always quicker than a system call for each small piece.
bool may_try_directly(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, bool write) {
  return options.kind == "auto" && nodes.nodes > 1 && !options.bulk && !options.planned &&
         total.mean_piece() >= QuickerWays::least_piece &&
         total.bytes >= options.least_trial * nodes.nodes &&
         (write || !reads_alike(total, options));
}

// The limit is the same as on one node.
bool nodes_write_apart(const OperationTotal& total, const NodeCounts& nodes, bool write) {
  return write && nodes.share_memory && nodes.nodes < nodes.ranks &&
         total.mean_piece() < direct_piece_on_one_node;
}

// All nodes take part, and something is left after three tries.
Count windows_of_a_try(const WindowGrid& grid) {
  const Count some = std::max<Count>(grid.homes, grid.count / 16);
  return 4 * some <= grid.count ? some : 0;
}

RingSizes ring_sizes(const NodeCounts& nodes, const TransportOptions& options, Count window) {
  RingSizes rings = least_rings(nodes);
  if (nodes.nodes == 1) return rings;
  const Count room = options.buffer_limit / 2 / window - rings.home;
  rings.away = static_cast<int>(std::clamp<Count>(room, rings.away, most_away));
  return rings;
}

// On one node, a window that fits into the cache is quickest. Between nodes, a window is also the
// unit of messages and of the file system's locks, so it is larger, and never smaller than a
// stripe. Small operations get small windows: their memory is set up sooner, and all nodes have
// some. Each other node sends a message for a window, so a node gets one of a small operation. On
// one node there are several, so that one is written while the next fills. Windows only grow, so
// that set-up is paid a few times at most. In bulk, a window is what one system call writes.
Count window_size_for(const OperationTotal& total, const NodeCounts& nodes,
                      const TransportOptions& options, Count before) {
  if (options.planned) return options.planned->size;
  Count largest = options.window_size;
  if (largest == 0 && nodes.nodes == 1) {
    largest = options.bulk                        ? bulk_window
              : options.sharing == Sharing::alike ? alike_window
                                                  : cached_window;
  }
  // Without shared memory, each rank has its own windows, and memory is scarce.
  if (largest == 0) largest = nodes.share_memory ? shipped_window : cached_window;
  const RingSizes rings = least_rings(nodes);
  const Count room = options.buffer_limit / (2 * rings.all());
  const Count stripe = std::max<Count>(options.striping_unit, 4096);
  const Count unit = stripe <= room ? stripe : 4096;  // stripes stay whole where there is room
  const Count most = std::clamp<Count>(room / unit * unit, 4096, most_of_a_window);
  largest = std::min(std::max(largest, options.striping_unit), most);
  Count window = std::max<Count>(options.striping_unit, std::min(smallest_window, most));
  const Count together = nodes.nodes == 1 ? Count{rings.home} : homes_of(nodes, options);
  const Count share = (total.last - total.first) / together;
  while (window < share && window < largest) window *= 2;
  // Otherwise nearly half of the nodes may have none.
  if (nodes.nodes > 1 && window % (4 * stripe) == 0 && window / 4 * 3 >= share)
    window = window / 4 * 3;
  return std::max(round_up(std::min(window, largest), 4096), before);
}

WindowGrid window_grid_for(const OperationTotal& total, const NodeCounts& nodes,
                           const TransportOptions& options, Count window) {
  return WindowGrid::over(total.first, total.last, window, homes_of(nodes, options));
}

}  // namespace forebay
