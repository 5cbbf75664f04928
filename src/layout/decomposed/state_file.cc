#include "layout/decomposed/state_file.h"

#include <algorithm>

#include "base/attempt.h"
#include "base/error.h"
#include "layout/decomposed/data_file.h"

namespace forebay::decomposed {

void check_records(const State& state, const Schema& schema) {
  for (const Variable& var : schema.vars) {
    Count bytes = 0;
    if (var.is_record && !multiply_fits(state.records, var.inner_bytes(), bytes))
      throw Error(Errc::enotnc,
                  "variable " + var.name + " cannot have " + std::to_string(state.records) +
                      " records, as the state of decomposed variables says",
                  "the state is damaged");
  }
}

StateSlots read_slots(ByteFile& file) {
  StateSlots found;
  std::vector<std::byte> bytes(static_cast<std::size_t>(slots * slot_bytes));
  bytes.resize(file.read_at(0, bytes));
  found.empty = bytes.empty();
  for (int slot = 0; slot < slots; ++slot) {
    const auto begin = static_cast<std::size_t>(state_place(slot));
    if (bytes.size() < begin + static_cast<std::size_t>(slot_bytes)) {
      // Files have all slots from the beginning. What is written to the last of them lengthens it.
      if (!found.empty) found.damaged = slot;
      continue;
    }
    const auto sector = std::span(bytes).subspan(begin, static_cast<std::size_t>(slot_bytes));
    auto& state = found.states[static_cast<std::size_t>(slot)];
    state = parse_state(sector);
    if (!state &&
        std::any_of(sector.begin(), sector.end(), [](std::byte b) { return b != std::byte{0}; }))
      found.damaged = slot;
  }
  return found;
}

void StateFile::create(const State& first) {
  state_ = first;
  state_.id = id_;
  slot_ = 0;
  std::vector<std::byte> bytes = print_state(state_);
  bytes.resize(static_cast<std::size_t>(slots * slot_bytes));
  file_->write_at(0, bytes);
}

void StateFile::load(OpenState which) {
  naming(file_->path(), [&] {
    const StateSlots read = read_slots(*file_);
    bool found = false;
    newest_epoch_ = 0;
    synced_.reset();
    damaged_slot_ = read.damaged;
    for (int slot = 0; slot < slots; ++slot) {
      const auto& state = read.states[static_cast<std::size_t>(slot)];
      if (!state) continue;
      if (state->id != id_) throw Error(Errc::enotnc, "it belongs to another file", folder_advice);
      if (state->synced && (!synced_ || state->epoch > synced_->epoch))
        synced_ = *state, synced_slot_ = slot;
      newest_epoch_ = std::max(newest_epoch_, state->epoch);
      if (!found || state->epoch > state_.epoch) state_ = *state, slot_ = slot;
      found = true;
    }
    if (!found)
      throw Error(Errc::enotnc, "no state of decomposed variables can be read",
                  "variables that are not decomposed can be read with any netCDF reader");
    if (which == OpenState::newest) return;
    if (!synced_)
      throw Error(Errc::enotnc, "no state of decomposed variables was ever synced",
                  "chunk_state=newest opens the newest one");
    state_ = *synced_, slot_ = synced_slot_;
  });
}

void StateFile::put(int slot, const State& state) {
  file_->write_at(state_place(slot), print_state(state));
}

// Never the slot of the state or of the synced one. In any other slot is what is older than the
// state, or what this one overrules, or nothing that could be read.
void StateFile::write(const State& next) {
  // The next commit but one writes over what only this one uses.
  if (mark_in_doubt_) put(slot_, state_);
  next_slot_ = 0;
  while (next_slot_ == slot_ || next_slot_ == synced_slot_) ++next_slot_;
  if (damaged_slot_ >= 0) next_slot_ = damaged_slot_;
  next_ = next;
  next_.synced = false;
  put(next_slot_, next_);
}

void StateFile::written() {
  state_ = next_;
  slot_ = next_slot_;
  mark_in_doubt_ = false;
  damaged_slot_ = -1;
}

bool StateFile::mark_synced() {
  if (state_.synced) return false;
  State marked = state_;
  marked.synced = true;
  mark_in_doubt_ = true;
  put(slot_, marked);
  return true;
}

void StateFile::marked() {
  state_.synced = true;
  synced_ = state_;
  synced_slot_ = slot_;
  mark_in_doubt_ = false;
}

}  // namespace forebay::decomposed
