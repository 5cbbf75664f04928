#include "checkpoints/state_catalogue.h"

#include <iterator>
#include <span>

#include "base/hash.h"

namespace forebay::checkpoint {

namespace {
constexpr StateId first_adjoint{Kind::adjoint, std::numeric_limits<Count>::min()};
}  // namespace

Count State::raw_bytes() const {
  Count bytes = 0;
  for (const Part& part : record.parts) bytes += part.raw_bytes();
  return bytes;
}

void Catalogue::add(const StatePtr& state) {
  all_[state->record.id] = state;
  enter(*state);
}

void Catalogue::remove(const State& state) {
  leave(state);
  all_.erase(state.record.id);
}

void Catalogue::move(State& state, Record record, Tier tier) {
  leave(state);
  state.record = std::move(record);
  state.tier = tier;
  enter(state);
}

void Catalogue::enter(State& state) {
  state.turn_ = turn_of(state.record.id);
  turns_[static_cast<std::size_t>(state.tier)].emplace(key_of(state), &state);
  count_in(state, true);
  if (state.record.id.kind != Kind::adjoint) return;
  Adjoints& here = adjoints_[static_cast<std::size_t>(state.tier)];
  ++here.states;
  here.bytes += state.record.bytes;
  adjoint_values_.insert(state.raw_bytes());
}

void Catalogue::leave(const State& state) {
  turns_[static_cast<std::size_t>(state.tier)].erase(key_of(state));
  count_in(state, false);
  if (state.record.id.kind != Kind::adjoint) return;
  Adjoints& here = adjoints_[static_cast<std::size_t>(state.tier)];
  --here.states;
  here.bytes -= state.record.bytes;
  adjoint_values_.erase(adjoint_values_.find(state.raw_bytes()));
}

/// Updates the totals over the model's states.
void Catalogue::count_in(const State& state, bool comes) {
  if (state.record.id.kind != Kind::state) return;
  const Count step = state.record.id.step, bytes = state.record.bytes;
  const std::uint64_t mark = hash_of(std::as_bytes(std::span(&step, 1)));
  const std::size_t encoded = bytes < state.raw_bytes() ? 1 : 0;
  if (comes) {
    sizes_.emplace(bytes, step);
    mark_of_steps_ += mark;
    encoded_ += encoded;
  } else {
    sizes_.erase({bytes, step});
    mark_of_steps_ -= mark;
    encoded_ -= encoded;
  }
}

std::vector<StoredState> Catalogue::all_of_model() const {
  std::vector<StoredState> states;
  for (auto it = all_.begin(); it != all_.end() && it->first.kind == Kind::state; ++it) {
    ++looked_at_;
    states.push_back({it->first.step, it->second->record.bytes});
  }
  return states;
}

std::vector<StoredState> Catalogue::sample_of_model(Count steps) const {
  constexpr std::size_t newest = CheckpointRoom::most_planned;
  constexpr Count parts = 16;
  if (sizes_.empty()) return {};
  const auto end = all_.lower_bound(first_adjoint);
  std::map<Count, Count> found;
  const auto take = [&](auto it) {
    ++looked_at_;
    found[it->first.step] = it->second->record.bytes;
  };
  const auto take_beside = [&](Count step) {
    const auto it = all_.lower_bound({Kind::state, step});
    if (it != end) take(it);
    if (it != all_.begin()) take(std::prev(it));
  };
  auto last = end;
  for (std::size_t i = 0; i < newest && last != all_.begin(); ++i) take(--last);
  for (Count i = 0; i <= parts; ++i)
    take_beside(steps / parts * i + (steps % parts * i + parts - 1) / parts);
  const Count first_step = all_.begin()->first.step, last_step = std::prev(end)->first.step;
  take_beside(first_step + (last_step - first_step) / 2);
  for (const auto& [bytes, step] : {*sizes_.begin(), *sizes_.rbegin()}) found[step] = bytes;
  std::vector<StoredState> states;
  states.reserve(found.size());
  for (const auto& [step, bytes] : found) states.push_back({step, bytes});
  return states;
}

StatePtr Catalogue::find(StateId id) const {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second;
}

std::vector<StatePtr> Catalogue::in(Tier tier) const {
  std::vector<StatePtr> states;
  for (const auto& [turn, state] : turns_[static_cast<std::size_t>(tier)]) {
    ++looked_at_;
    states.push_back(find(state->record.id));
  }
  return states;
}

std::size_t Catalogue::count(Kind kind) const {
  const std::size_t adjoints = adjoint_values_.size();
  return kind == Kind::adjoint ? adjoints : all_.size() - adjoints;
}

StatePtr Catalogue::latest(const State* other) const {
  for (auto it = all_.lower_bound(first_adjoint); it != all_.begin();) {
    ++looked_at_;
    if (--it; it->second.get() != other) return it->second;
  }
  return nullptr;
}

StatePtr Catalogue::wanted_last(Tier tier) const {
  const auto& turns = turns_[static_cast<std::size_t>(tier)];
  for (auto it = turns.rbegin(); it != turns.rend(); ++it) {
    ++looked_at_;
    if (!it->second->busy) return find(it->second->record.id);
  }
  return nullptr;
}

std::uint64_t Catalogue::turn_of(StateId id) const {
  if (id.kind != Kind::state) return not_expected;
  const auto place = places_.lower_bound({id.step, 0});
  return place != places_.end() && place->first == id.step ? place->second : not_expected;
}

/// Updates the turn of a step after its expectation has changed.
void Catalogue::turn_again(Count step) {
  ++looked_at_;
  const auto found = all_.find({Kind::state, step});
  if (found == all_.end()) return;
  State& state = *found->second;
  leave(state);
  enter(state);
}

void Catalogue::expect(const std::vector<Count>& steps) {
  const auto before = std::exchange(order_, {});
  places_.clear();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    order_.emplace_hint(order_.end(), i, steps[i]);
    places_.emplace(steps[i], i);
  }
  for (const auto& [place, step] : before) turn_again(step);
  for (const Count step : steps) turn_again(step);
}

void Catalogue::came(Count step) {
  const auto place = places_.lower_bound({step, 0});
  if (place == places_.end() || place->first != step) return;
  order_.erase(place->second);
  places_.erase(place);
  turn_again(step);
}

std::optional<Count> Catalogue::expected(std::size_t others) const {
  if (order_.size() <= others) return std::nullopt;
  return std::next(order_.begin(), static_cast<std::ptrdiff_t>(others))->second;
}

Count Catalogue::largest_adjoint() const {
  return adjoint_values_.empty() ? 0 : *adjoint_values_.rbegin();
}

}  // namespace forebay::checkpoint
