#include "simulation/rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace forebay::simulation {

void check(const Rates& r) {
  for (const double rate : {r.network, r.message_latency, r.copy, r.storage, r.writer,
                            r.call_latency, r.deflate, r.piece})
    if (!(rate >= Rates::least && rate <= Rates::most))
      throw Error(Errc::einval, fmt::format("{} is no rate", rate),
                  fmt::format("give one from {} to {}", Rates::least, Rates::most));
}

void Prediction::add(const Busiest& b, const Rates& r) {
  const auto d = [](Count n) { return static_cast<double>(n); };
  const double on_network = d(b.node_bytes) / r.network + d(b.node_messages) * r.message_latency;
  const double copying = d(b.node_copied) / r.copy;
  const Count rounds = (b.node_calls + b.calls_at_once - 1) / b.calls_at_once;
  const double storing =
      std::max(d(b.bytes) / r.storage, d(b.node_stored) / r.writer + d(rounds) * r.call_latency);
  const double planned = d(b.rank_pieces) * r.piece;
  network += on_network;
  copy += copying;
  storage += storing;
  planning += planned;
  total += std::max({on_network, copying, storing, planned});
}

}  // namespace forebay::simulation
