// Restores states.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "checkpoints/checkpoint_store.h"

namespace forebay::checkpoint {

namespace {

std::string words_for(const Part& part) {
  if (part.type == Type::none) return std::to_string(part.raw_bytes()) + " bytes";
  return std::string(name_of(part.type)) + "(" + joined(part.shape, ", ") + ")";
}

}  // namespace

void Store::begin_read(StateId id) {
  require_idle();
  const Stopwatch watch(account_[Account::read_ns]);
  Lock lock(mutex_);
  const StatePtr state = found(id);
  wait_for(lock, *state);
  if (ahead_ && ahead_->serial == state->record.serial && !ahead_->values.empty()) {
    reading_ahead_ = std::move(ahead_);
    left_ahead_ = 0;
    for (const RawBytes& values : reading_ahead_->values) left_ahead_ += std::ssize(values);
    ++account_[Account::decoded_ahead];
  }
  ahead_.reset();
  window_.emplace(state->record);
  ++account_[Account::reads];
  if (account_.told.size() < Account::most_told) {
    const StateInfo info = info_of(*state);
    account_.told.push_back({id, state->pushed, state->tier, info.bytes, info.raw_bytes});
  }
  state->busy = true;
  reading_ = state;
  rouse();  // to decode the next one
}

std::size_t Store::part_of(const std::string& name) const {
  const std::size_t n = parts().size();
  for (std::size_t i = 0; i < n; ++i)
    if (const std::size_t at = (next_part_ + i) % n; parts()[at].name == name) return at;
  throw Error(Errc::enotvar, words_for(reading_->record.id) + " has no " + name,
              "declare what was kept");
}

void Store::read_part(const State& state, std::size_t number, std::span<std::byte> into,
                      ReadWindow& window, Team& team) const {
  const Part& part = state.record.parts[number];
  std::string where = words_for(state.record.id) + ", " + part.name;
  if (state.tier == Tier::memory) {
    const std::byte* from = state.memory[number].data();
    if (part.codec == "none") {  // in memory and not encoded: no checksum is needed
      if (!into.empty()) std::memcpy(into.data(), from, into.size());
      return;
    }
    const auto fetch = [&](Count offset, std::span<std::byte> to) {
      if (!to.empty()) std::memcpy(to.data(), from + offset, to.size());
    };
    return decode(part, fetch, into, team, where);
  }
  FileTier& file = *files(state.tier);
  const Offset begin = window.place_of(state.record, number);
  const std::span<const std::byte> there = window.at(file, begin, part.stored_bytes());
  const auto fetch = [&](Count offset, std::span<std::byte> to) {
    if (there.empty()) return file.read(begin + offset, to);
    if (!to.empty()) std::memcpy(to.data(), there.data() + offset, to.size());
  };
  decode(part, fetch, into, team, where + " (" + file.path() + ")");
}

void Store::get(int variable, void* values) {
  const Part& wanted = declared(variable).part;
  const std::size_t number = part_of(wanted.name);
  const Part& part = reading_->record.parts[number];
  if (part.type != wanted.type || part.shape != wanted.shape)
    throw Error(Errc::etype_mismatch,
                words_for(reading_->record.id) + " has " + wanted.name + " as " + words_for(part) +
                    ", and it is declared as " + words_for(wanted),
                "declare it as it was");
  if (!values && part.raw_bytes() > 0)
    throw Error(Errc::einval, "nowhere to put " + wanted.name, "give an address");
  const std::span into(static_cast<std::byte*>(values), static_cast<std::size_t>(part.raw_bytes()));
  get_bytes(wanted.name, into);
}

const std::vector<Part>& Store::parts() const {
  if (!reading_) throw Error(Errc::eperm, "no state is being read", "begin one");
  return reading_->record.parts;
}

Count Store::bytes_of(const std::string& name) const {
  const std::size_t number = part_of(name);
  return parts()[number].raw_bytes();
}

void Store::get_bytes(const std::string& name, std::span<std::byte> into) {
  const std::size_t number = part_of(name);
  next_part_ = number + 1;
  const Stopwatch watch(account_[Account::read_ns]);
  if (std::ssize(into) != reading_->record.parts[number].raw_bytes())
    throw Error(Errc::einval, name + " has another number of bytes", "ask for it first");
  if (into.empty()) return;
  // A second get() of the same values reads them again.
  if (!reading_ahead_ || reading_ahead_->values[number].empty())
    return read_part(*reading_, number, into, *window_, team_);
  {
    const RawBytes values = std::exchange(reading_ahead_->values[number], {});
    std::memcpy(into.data(), values.data(), into.size());
  }
  const Lock lock(mutex_);
  left_ahead_ -= std::ssize(into);
  rouse();
}

void Store::restore() {
  for (int v = 0; v < std::ssize(variables_); ++v)
    if (std::byte* memory = variables_[static_cast<std::size_t>(v)].memory) get(v, memory);
}

void Store::end_reading(bool drops) {
  const StatePtr state = reading_;
  Lock lock(mutex_);
  if (drops) forget(state);
  leave_reading();
  if (state->record.id.kind == Kind::state) states_.came(state->record.id.step);
  backwards_ = true;
  popped_ = drops;
  rouse();
}

void Store::leave_reading() {
  reading_->busy = false;
  reading_.reset();
  reading_ahead_.reset();
  left_ahead_ = 0;
  window_.reset();
  changed_.notify_all();
}

void Store::peek(StateId id) {
  begin_read(id);
  try {
    restore();
    end_reading(false);
  } catch (...) {
    abandon();
    throw;
  }
}

Count Store::pop() {
  require_idle();
  const std::optional<Count> step = last();
  if (!step) throw Error(Errc::enodata, "there is no state to pop", "push one first");
  begin_read({Kind::state, *step});
  try {
    restore();
    end_reading(true);
  } catch (...) {
    abandon();
    throw;
  }
  return *step;
}

}  // namespace forebay::checkpoint
