#include "comm/exchange.h"

namespace forebay {

void SparseExchange::run(std::span<const Message> outgoing,
                         const std::function<void(Rank, std::span<const std::byte>)>& receive) {
  for (const Message& m : outgoing) receive(m.to, m.bytes);
}

}  // namespace forebay
