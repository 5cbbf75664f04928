// Simulates the work of ranks for chunked variables in one collective operation: who touches which
// chunk, who owns it (plan/chunk_owners.h), and what moves to the owners of a write, or from those
// of a read.
//
// Messages are counted as if the operation took one round (docs/chunked.md). Two ranks on different
// nodes have a message in each round in which they exchange bytes, so the real number is at least
// as large. Within a node ranks share chunk buffers. Reads are counted as if owners decoded for all
// (chunk_read=owners). Of the memory of ranks, only the owned chunks are counted.
#pragma once

#include "simulation/rates.h"
#include "simulation/simulate.h"
#include "simulation/workload.h"

namespace forebay::simulation {

struct ChunkPlanFacts {
  Count requests = 0, bytes = 0;
  Count chunks = 0;
  Count shared = 0;                       ///< chunks that ranks other than the owner touch
  Count owners = 0;                       ///< ranks that own a chunk
  Count accesses = 0;                     ///< pairs of a chunk and a rank that touches it
  Count bytes_moved = 0;                  ///< to or from another rank
  Count messages = 0, message_bytes = 0;  ///< between nodes; only bytes of data, without headers
  int out_degree = 0, in_degree = 0;      ///< ranks of other nodes that a rank sends to; that send
                                          ///< to it
  double busiest = 0, mean = 0;           ///< work of ranks, in bytes encoded with deflate:6
  Count most_owned = 0;                   ///< bytes of chunks that one rank owns
  std::vector<Count> owned_by_node;       ///< bytes of chunks
  Prediction predicted;
};

/// Treats all requested variables as chunked. Each request of every rank is visited once; memory:
/// 24 bytes an access. Errc::einval for an impossible machine, or too many accesses.
ChunkPlanFacts simulate_chunks(const Workload& workload, const Machine& machine,
                               const Rates& rates);

}  // namespace forebay::simulation
