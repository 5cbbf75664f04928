// What goes on beside the program: states move down, and are decoded ahead.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoint/store.h"

namespace forebay::checkpoint {

void Store::work() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (const StatePtr state = to_move())
      move_down(lock, state);
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
  for (const Tier tier : {Tier::fast, Tier::directory})
    if (tier > state.tier && files(tier) &&
        state.record.bytes <= files(tier)->limit() - files(tier)->used())
      return true;
  return false;
}

/// A state of a tier in which one more like the last would find no room.
Store::StatePtr Store::to_move() const {
  if (failed_ || backwards_) return nullptr;
  const auto if_it_fits = [&](const StatePtr& state) {
    return state && has_room_below(*state) ? state : nullptr;
  };
  if (fast_ && needed_ > fast_->room())
    if (StatePtr state = if_it_fits(wanted_last(Tier::fast))) return state;
  return held_ + needed_ > memory_ ? if_it_fits(wanted_last(Tier::memory)) : nullptr;
}

void Store::move_down(Lock& lock, const StatePtr& state) {
  state->busy = moving_ = true;
  const Tier from = state->tier;
  Record record = state->record;
  Tier to = from;
  lock.unlock();
  auto failed = attempt_to([&] {
    {
      const Lock again(mutex_);
      discard_stale();  // a copy of this state may be among them
    }
    RawBytes read;
    std::vector<iovec> pieces;
    if (from == Tier::memory) {
      for (RawBytes& part : state->memory) pieces.push_back({part.data(), part.size()});
    } else {
      read.resize(static_cast<std::size_t>(record.bytes));
      files(from)->read(record.place, read);
      std::byte* at = read.data();
      for (const Part& part : record.parts) {
        pieces.push_back({at, static_cast<std::size_t>(part.stored_bytes())});
        at += part.stored_bytes();
      }
    }
    to = keep_in_files(record, pieces, from == Tier::memory ? Tier::fast : Tier::directory);
  });
  lock.lock();
  // A sync has told of it: it is on the device at its new place before it leaves the old one.
  if (!failed && from != Tier::memory && record.serial <= synced_) {
    lock.unlock();
    failed = attempt_to([&] { files(to)->sync(); });
    lock.lock();
    if (failed) discard(to, record.serial);
  }
  if (!failed) {
    state->record = std::move(record);
    state->tier = to;
    ++account_[Account::moved_down];
    if (from == Tier::memory)
      leave_memory(*state);
    else
      discard(from, state->record.serial);
  }
  keep_first(failed_, std::move(failed));
  state->busy = moving_ = false;
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

void Store::decode_ahead(Lock& lock, const StatePtr& state) {
  state->busy = decoding_ = true;
  ahead_.reset();
  lock.unlock();
  Ahead made{state->record.serial, {}};
  ReadWindow window(state->record);
  const auto failed = attempt_to([&] {
    for (std::size_t i = 0; i < state->record.parts.size(); ++i) {
      RawBytes values(static_cast<std::size_t>(state->record.parts[i].raw_bytes()));
      read_part(*state, i, values, window, team_beside_);
      made.values.push_back(std::move(values));
    }
  });
  if (failed) made.values.clear();  // who reads it is told
  lock.lock();
  ahead_ = std::move(made);
  state->busy = decoding_ = false;
  changed_.notify_all();
}

/// What the thread could not do, once.
void Store::tell_failure() {
  if (failed_) throw *std::exchange(failed_, std::nullopt);
}

}  // namespace forebay::checkpoint
