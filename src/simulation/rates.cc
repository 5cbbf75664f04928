#include "simulation/rates.h"

#include <algorithm>

namespace forebay::simulation {

void Prediction::add(const Busiest& b, const Rates& r) {
  const auto d = [](Count n) { return static_cast<double>(n); };
  const double on_network = d(b.node_bytes) / r.network + d(b.node_messages) * r.message_latency;
  const double copying = d(b.node_copied) / r.copy;
  const double storing =
      std::max(d(b.bytes) / r.storage,
               d(b.node_stored) / r.writer + d(b.node_calls) * r.call_latency / d(b.calls_at_once));
  const double planned = d(b.rank_pieces) * r.piece;
  network += on_network;
  copy += copying;
  storage += storing;
  planning += planned;
  total += std::max({on_network, copying, storing, planned});
}

}  // namespace forebay::simulation
