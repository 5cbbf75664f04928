// What ranks would do for chunked variables in one collective operation: who touches which chunk,
// who owns it (plan/chunk_owners.h), and what has to move to the owners of a write, or from those
// of a read.
//
// Messages are counted as if the operation took one round (docs/chunked.md): a pair of ranks on
// different nodes has one in each round in which it has bytes for each other, so there are at least
// as many. Within a node ranks share chunk buffers. Reads are counted as if owners decoded for all
// (chunk_read=owners). Memory that ranks need is not counted, but for the chunks that they own.
#pragma once

#include "simulation/rates.h"
#include "simulation/simulate.h"
#include "simulation/workload.h"

namespace forebay::simulation {

struct ChunkPlanFacts {
  Count requests = 0, bytes = 0;
  Count chunks = 0;
  Count shared = 0;                       ///< chunks that others than the owner touch
  Count owners = 0;                       ///< ranks that own any
  Count accesses = 0;                     ///< pairs of a chunk and a rank that touches it
  Count bytes_moved = 0;                  ///< to or from another rank
  Count messages = 0, message_bytes = 0;  ///< between nodes; bytes of data alone, without heads
  int out_degree = 0, in_degree = 0;      ///< ranks of other nodes that a rank has messages for
  double busiest = 0, mean = 0;           ///< work of ranks, in bytes encoded with deflate:6
  Count most_owned = 0;                   ///< bytes of chunks that one rank owns
  std::vector<Count> owned_by_node;       ///< bytes of chunks
  Prediction predicted;
};

/// All variables that are asked for are chunked. Every request of every rank is looked at once;
/// memory: 24 bytes an access. Errc::einval for a machine that cannot be, or too many accesses.
ChunkPlanFacts simulate_chunks(const Workload& workload, const Machine& machine,
                               const Rates& rates);

}  // namespace forebay::simulation
