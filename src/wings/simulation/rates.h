// Converts counts into time at given rates. A model to compare plans, and to find the bottleneck of
// a machine; not a measurement.
#pragma once

#include "base/types.h"

namespace forebay::simulation {

/// Rates of a machine in bytes and seconds. The defaults describe nodes with a link of 100 Gb/s and
/// a parallel file system of 100 GB/s.
struct Rates {
  static constexpr double least = 1e-15, most = 1e18;

  double network = 12.5e9;        ///< bytes a second into or out of a node
  double message_latency = 2e-6;  ///< seconds of a node for a message
  double copy = 10e9;             ///< bytes a second that a node moves in memory
  double storage = 100e9;         ///< bytes a second of all writers, or readers, together
  double writer = 2e9;            ///< of one node
  double call_latency = 200e-6;   ///< seconds of a system call
  double deflate = 75e6;          ///< bytes a second that a rank encodes with deflate:6
  double piece = 5e-9;            ///< seconds of a rank to plan, place and mark a piece
};

/// Errc::einval for a rate that is 0 or less, infinite, not a number, or beyond all machines.
void check(const Rates& rates);

/// The largest loads in one operation.
struct Busiest {
  Count node_bytes = 0;     ///< that a node sends, or receives
  Count node_messages = 0;  ///< that a node sends and receives
  Count node_copied = 0;    ///< bytes that a node places, copies into messages and out of them
  Count node_stored = 0;    ///< bytes that a node writes or reads
  Count node_calls = 0;     ///< system calls of a node
  Count calls_at_once = 1;  ///< system calls of a node that run at the same time
  Count bytes = 0;          ///< that all nodes write or read
  Count rank_pieces = 0;    ///< of a rank
  Count rank_calls = 0;     ///< system calls of a rank that writes or reads for itself
};

/// Seconds.
struct Prediction {
  double network = 0, copy = 0, storage = 0, planning = 0, coding = 0;
  /// The slowest of these for each operation, summed: they overlap.
  double total = 0;

  void add(const Busiest& busiest, const Rates& rates);
};

}  // namespace forebay::simulation
