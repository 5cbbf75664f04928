// What goes on beside the program: states move down, and are decoded ahead.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoint/store.h"

namespace forebay::checkpoint {

void Store::work() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (const StatePtr state = to_move())
      move_down(lock, state, team_beside_);
    else if (const StatePtr next = to_decode())
      decode_ahead(lock, next);
    else
      wake_.wait(lock);
  }
}

void Store::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

FileTier* Store::files(Tier tier) const {
  if (tier == Tier::fast) return fast_.get();
  return tier == Tier::directory ? directory_.get() : nullptr;
}

/// Expected steps are wanted in their order, then the latest one first.
Store::StatePtr Store::wanted_last(Tier tier) const {
  StatePtr last;
  std::pair<std::size_t, Count> when;  // place among the expected ones; steps back
  for (const auto& [id, state] : states_) {
    if (state->tier != tier || state->busy) continue;
    const auto said = std::find(expected_.begin(), expected_.end(), id.step);
    const std::pair<std::size_t, Count> its{said - expected_.begin(), -id.step};
    if (last && its < when) continue;
    last = state;
    when = its;
  }
  return last;
}

bool Store::has_room_below(const State& state) const {
  Rooms free = rooms(false);
  if (state.record.id.kind == Kind::state) leave_room_for_adjoint(free);
  return std::any_of(free.begin() + static_cast<std::ptrdiff_t>(state.tier) + 1, free.end(),
                     [&](Count room) { return state.record.bytes <= room; });
}

/// A state of a tier in which one more like the last would find no room.
Store::StatePtr Store::to_move() const {
  if (failed_ || backwards_) return nullptr;
  const auto if_it_fits = [&](const StatePtr& state) {
    return state && has_room_below(*state) ? state : nullptr;
  };
  if (fast_ && needed_ > fast_->room())
    if (StatePtr state = if_it_fits(wanted_last(Tier::fast))) return state;
  if (memory_has_room(Kind::state, needed_)) return nullptr;
  return if_it_fits(wanted_last(Tier::memory));
}

void Store::move_down(Lock& lock, const StatePtr& state, Team& team) {
  state->busy = true;
  ++moving_;
  const Tier from = state->tier;
  Record record;
  std::optional<Tier> to;  // none: what room there was has been taken, and the state stays
  lock.unlock();
  auto failed = attempt_to([&] {
    record = state->record;
    {
      const Lock again(mutex_);
      discard_stale();  // a copy of this state may be among them
    }
    if (from != Tier::memory) {
      to = keep_in_files(record, Tier::directory, [&](FileTier& tier) {
        tier.add(record, *files(from), state->record.place);
      });
      return;
    }
    std::vector<iovec> parts;
    for (RawBytes& part : state->memory) parts.push_back({part.data(), part.size()});
    to = keep_in_files(record, Tier::fast, [&](FileTier& tier) { tier.add(record, parts, team); });
  });
  lock.lock();
  // A sync has told of it: it is on the device at its new place before it leaves the old one.
  if (to && from != Tier::memory && record.serial <= synced_) {
    lock.unlock();
    failed = attempt_to([&] { files(*to)->sync(); });
    lock.lock();
    if (failed) discard(*to, record.serial);
  }
  if (to && !failed) {
    state->record = std::move(record);
    state->tier = *to;
    ++account_[Account::moved_down];
    if (from == Tier::memory)
      leave_memory(*state);
    else
      discard(from, state->record.serial);
  }
  keep_first(failed_, std::move(failed));
  state->busy = false;
  --moving_;
  changed_.notify_all();
}

/// The state that will be read next, where decoding it takes time; while one is read that was
/// decoded, the one after it.
Store::StatePtr Store::to_decode() const {
  if (!backwards_ || !(popped_ || !expected_.empty())) return nullptr;
  if (reading_ && !reading_ahead_) return nullptr;  // the program reads by itself
  StatePtr next;
  if (!expected_.empty()) {
    const bool is_read = reading_ && reading_->record.id == StateId{Kind::state, expected_.front()};
    const std::size_t first = is_read ? 1 : 0;
    if (first == expected_.size()) return nullptr;
    const auto found = states_.find({Kind::state, expected_[first]});
    if (found != states_.end()) next = found->second;
  } else {
    for (const auto& [id, state] : states_)
      if (id.kind == Kind::state && state != reading_) next = state;
  }
  if (!next || next->busy || (ahead_ && ahead_->serial == next->record.serial)) return nullptr;
  const auto& parts = next->record.parts;
  const bool as_it_is = std::all_of(parts.begin(), parts.end(),
                                    [](const Part& part) { return part.codec == "none"; });
  if (next->tier == Tier::memory && as_it_is) return nullptr;
  return next;
}

/// Waits until `more` bytes of `all` that a state has may be decoded: what the program has not
/// taken yet of the one before is held beside. False where the program wants it no more.
bool Store::has_memory_ahead(Lock& lock, Count made, Count more, Count all) {
  wake_.wait(lock, [&] {
    return stopping_ || !backwards_ || left_ahead_ == 0 || left_ahead_ + made + more <= all;
  });
  return backwards_ && !stopping_;
}

void Store::decode_ahead(Lock& lock, const StatePtr& state) {
  state->busy = decoding_ = true;
  ahead_.reset();
  Ahead made{state->record.serial, {}};
  ReadWindow window(state->record);
  const Count all = info_of(*state).raw_bytes;
  Count bytes = 0;
  bool wanted = true;
  std::optional<Error> failed;
  for (std::size_t i = 0; !failed && i < state->record.parts.size(); ++i) {
    const Count more = state->record.parts[i].raw_bytes();
    wanted = has_memory_ahead(lock, bytes, more, all);
    if (!wanted) break;
    lock.unlock();
    failed = attempt_to([&] {
      RawBytes values(static_cast<std::size_t>(more));
      read_part(*state, i, values, window, team_beside_);
      made.values.push_back(std::move(values));
    });
    lock.lock();
    bytes += more;
  }
  if (failed) made.values.clear();  // who reads it is told
  if (wanted) ahead_ = std::move(made);
  state->busy = decoding_ = false;
  changed_.notify_all();
}

/// What the thread could not do, once.
void Store::tell_failure() {
  if (failed_) throw *std::exchange(failed_, std::nullopt);
}

}  // namespace forebay::checkpoint
