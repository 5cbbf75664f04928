#include "comm/mailbox.h"

#include <algorithm>
#include <utility>

#include "comm/backend.h"
#include "comm/test_delay.h"

namespace forebay {

Mailbox::Mailbox(const Comm& comm, Count limit, Count largest) : comm_(comm), limit_(limit) {
  for (Arrival& arrival : arrivals_)
    arrival.room = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(largest));
}

bool Mailbox::look() {
  has_mail_ = comm_.backend()->has_mail();
  const bool moved = comm_.backend()->look_after(letters_, arrivals_);
  for (Letter& letter : letters_) {
    if (!letter.taken) continue;
    if (!letter.apart) held_ -= static_cast<Count>(letter.bytes.size());
    --under_way_;
    letter = {};
  }
  return moved;
}

Letter& Mailbox::free_place() {
  return *std::find_if(letters_.begin(), letters_.end(), [](const Letter& l) { return l.to < 0; });
}

void Mailbox::send(Rank to, int tag, RawBytes&& message, bool apart) {
  Letter& letter = free_place();
  letter.bytes = std::move(message);
  letter.apart = apart;
  if (!apart) held_ += static_cast<Count>(letter.bytes.size());
  post(letter, to, tag);
}

void Mailbox::send_few(Rank to, int tag, std::span<const std::byte> message) {
  Letter& letter = free_place();
  std::copy(message.begin(), message.end(), letter.head.begin());
  letter.head_bytes = message.size();
  post(letter, to, tag);
}

void Mailbox::post(Letter& letter, Rank to, int tag) {
  test_delay(comm_.rank());
  letter.to = to;
  letter.tag = tag;
  ++under_way_;
  comm_.backend()->post(letter);
}

bool Mailbox::fetch(int tag) {
  if (!has_mail_) return false;
  const auto place =
      std::find_if(arrivals_.begin(), arrivals_.end(), [](const Arrival& a) { return a.tag < 0; });
  return place != arrivals_.end() && comm_.backend()->fetch(tag, *place);
}

bool Mailbox::take(int tag, const Receive& use) {
  const auto place = std::find_if(arrivals_.begin(), arrivals_.end(),
                                  [&](const Arrival& a) { return a.tag == tag && a.complete; });
  if (place == arrivals_.end()) return false;
  use(place->from, {place->room.get(), place->bytes});
  place->tag = -1;
  place->complete = false;
  return true;
}

}  // namespace forebay
