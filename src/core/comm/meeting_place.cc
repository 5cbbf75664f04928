#include "comm/meeting_place.h"

#include <algorithm>
#include <chrono>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {

// Zero-filled memory is a valid State.
struct MeetingPlace::State {
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> added;  // reductions to which all of the node have come
  std::atomic<std::uint32_t> round;              // reductions that have ended
  alignas(64) Meeting result;
  Meeting of_node;  // result of the node's ranks alone, if asked for
};

namespace {

/// Bytes that all ranks together may contribute beside their values.
constexpr std::size_t gathered_bytes = 192 << 10;

std::size_t room_of(int ranks, bool has_rooms) {
  return has_rooms ? gathered_bytes / static_cast<std::size_t>(ranks) / 64 * 64 : 0;
}

}  // namespace

std::size_t MeetingPlace::bytes_for(int ranks, bool has_rooms) {
  static_assert(sizeof(Meeting) % 64 == 0);
  const std::size_t rooms = 2 * room_of(ranks, has_rooms);
  return sizeof(State) + static_cast<std::size_t>(ranks) * (sizeof(Meeting) + rooms);
}

MeetingPlace::MeetingPlace(std::byte* memory, const Comm& node, Peers& peers,
                           Comm::Backend* leaders, bool one_node, bool has_rooms)
    : state_(*reinterpret_cast<State*>(memory)),
      of_ranks_(reinterpret_cast<Meeting*>(memory + sizeof(State))),
      peers_(peers),
      leaders_(leaders),
      rooms_(memory + sizeof(State) + static_cast<std::size_t>(node.size()) * sizeof(Meeting)),
      room_(room_of(node.size(), has_rooms)),
      rank_(node.rank()),
      ranks_(node.size()),
      one_node_(one_node) {
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
}

// Until all have come, only a rank itself touches its own meeting. Then only the last rank to come
// reads them and writes the result; after it, if there are other nodes, the leader does. From then
// on all read the result. Nobody writes it before all have come again; each comes after it has its
// copy.
Meeting MeetingPlace::meet_by_nodes(Meeting& meeting, Comm::Backend& mail, const NodeSums& told) {
  const std::uint32_t seen = state_.round.load();
  of_ranks_[rank_] = meeting;
  if (state_.arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(ranks_)) {
    add_up(told);
    state_.arrived.store(0);
    tell(one_node_ ? state_.round : state_.added, seen);
  }
  if (leaders_ != nullptr) {
    wait(state_.added, seen, mail);
    // All ranks of the node learn from the result whether the reduction failed.
    const auto failed = attempt_to([&] { leaders_->meet(state_.result); });
    if (failed) state_.result.code = to_int(failed->code());
    tell(state_.round, seen);
  }
  wait(state_.round, seen, mail);
  meeting = state_.result;
  return told ? state_.of_node : Meeting();
}

// A rank writes where it wrote two reductions ago. Nobody who still read that came to the reduction
// in between. The number of ended reductions does not change between a rank's last one and its
// next.
std::byte* MeetingPlace::rooms() const {
  return rooms_ + state_.round.load() % 2 * room_ * static_cast<std::size_t>(ranks_);
}

void MeetingPlace::add_up(const NodeSums& told) {
  state_.result = of_ranks_[0];
  for (int r = 1; r < ranks_; ++r) state_.result.add(of_ranks_[r]);
  if (!told) return;
  state_.of_node = state_.result;
  if (state_.result.code == 0) told(state_.result.values);
}

void MeetingPlace::tell(std::atomic<std::uint32_t>& round, std::uint32_t seen) {
  round.store(seen + 1);
  Peers::wake(round);
}

// If others want the core, a polling rank takes it from those that it waits for. So it sleeps until
// it is woken, and lets messages progress only now and then.
void MeetingPlace::wait(std::atomic<std::uint32_t>& round, std::uint32_t seen,
                        Comm::Backend& mail) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds alone(20);  // on an idle core, a turn takes less
  constexpr int sleeping = 100, longest = 50;
  for (int idle = 0; round.load() == seen; idle = std::min(idle + 1, sleeping + longest)) {
    const auto begin = Clock::now();
    mail.has_mail();  // this lets messages of others progress, too
    peers_.rest(idle, &round, seen, longest);
    if (Clock::now() - begin > alone) idle = std::max(idle, sleeping);
  }
}

}  // namespace forebay
