// The thread's work: it moves states down, and decodes states ahead.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoints/checkpoint_store.h"

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

/// Wakes the thread if it has work. The caller holds the lock.
void Store::rouse() {
  if (decoding_ || to_move() || to_decode()) wake_.notify_all();
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

bool Store::has_room_below(const State& state) const {
  Rooms free = rooms(false);
  if (state.record.id.kind == Kind::state) leave_room_for_adjoint(free);
  return std::any_of(free.begin() + static_cast<std::ptrdiff_t>(state.tier) + 1, free.end(),
                     [&](Count room) { return state.record.bytes <= room; });
}

/// Returns a state to move down, from a tier without space for one more state like the last; null:
/// none.
StatePtr Store::to_move() const {
  if (failed_ || backwards_) return nullptr;
  const auto if_it_fits = [&](const StatePtr& state) {
    return state && has_room_below(*state) ? state : nullptr;
  };
  if (fast_ && needed_ > fast_->room())
    if (StatePtr state = if_it_fits(states_.wanted_last(Tier::fast))) return state;
  if (memory_has_room(Kind::state, needed_)) return nullptr;
  return if_it_fits(states_.wanted_last(Tier::memory));
}

void Store::move_down(Lock& lock, const StatePtr& state, Team& team) {
  state->busy = true;
  ++moving_;
  const Tier from = state->tier;
  Record record;
  std::optional<Tier> to;  // none: the space was taken meanwhile, and the state stays
  lock.unlock();
  auto failed = attempt_to([&] {
    record = state->record;
    {
      const Lock again(mutex_);
      discard_stale();  // may contain a copy of this state
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
  // After a sync, the state must be on the device at its new place before it leaves the old one.
  const bool synced = from != Tier::memory && is_synced(*state);
  if (to && synced) {
    lock.unlock();
    failed = attempt_to([&] { files(*to)->sync(); });
    lock.lock();
    if (failed) discard(*to, record.serial, true);
  }
  if (to && !failed) {
    ++account_[Account::moved_down];
    if (from == Tier::memory)
      leave_memory(*state);
    else
      discard(from, state->record.serial, synced);
    states_.move(*state, std::move(record), *to);
  }
  keep_first(failed_, std::move(failed));
  state->busy = false;
  --moving_;
  changed_.notify_all();
}

/// Returns the state that will be read next, if decoding it takes time. While a state that was
/// decoded ahead is read, it is the one after it.
StatePtr Store::to_decode() const {
  if (!backwards_ || !(popped_ || states_.expects())) return nullptr;
  if (reading_ && !reading_ahead_) return nullptr;  // the program decodes by itself
  StatePtr next;
  if (states_.expects()) {
    const bool is_read =
        reading_ && reading_->record.id == StateId{Kind::state, *states_.expected()};
    const std::optional<Count> step = states_.expected(is_read ? 1 : 0);
    if (step) next = states_.find({Kind::state, *step});
  } else {
    next = states_.latest(reading_.get());
  }
  if (!next || next->busy || (ahead_ && ahead_->serial == next->record.serial)) return nullptr;
  const auto& parts = next->record.parts;
  const bool as_it_is = std::all_of(parts.begin(), parts.end(),
                                    [](const Part& part) { return part.codec == "none"; });
  if (next->tier == Tier::memory && as_it_is) return nullptr;
  return next;
}

/// Waits until `more` bytes of a state with `all` bytes may be decoded: values of the state before,
/// which the program has not read yet, are held at the same time. Returns false if the program no
/// longer needs the state.
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
  if (failed) made.values.clear();  // the reader gets the error
  if (wanted) ahead_ = std::move(made);
  state->busy = decoding_ = false;
  changed_.notify_all();
}

/// Throws the thread's error, once.
void Store::tell_failure() {
  if (failed_) throw *std::exchange(failed_, std::nullopt);
}

}  // namespace forebay::checkpoint
