#include "decomposed/state_file.h"

#include "base/attempt.h"
#include "base/error.h"
#include "decomposed/data_file.h"

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

// A file has all slots from the beginning. Writing to the last slot restores the length of a file
// that was cut.
store::Slots<State> read_states(ByteFile& file) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(slots * slot_bytes));
  bytes.resize(file.read_at(0, bytes));
  return store::read_slots<State>(bytes, parse_state);
}

void StateFile::create(const State& first) {
  state_ = first;
  state_.id = id_;
  slot_ = 0;
  found_.records.assign(slots, std::nullopt);
  found_.records[0] = state_;
  std::vector<std::byte> bytes = print_state(state_);
  bytes.resize(static_cast<std::size_t>(slots * slot_bytes));
  file_->write_at(0, bytes);
}

void check_owner(const store::Slots<State>& found, std::uint64_t id) {
  for (const auto& state : found.records)
    if (state && state->id != id)
      throw Error(Errc::enotnc, "it belongs to another file", folder_advice);
}

void StateFile::load(OpenState which) {
  naming(file_->path(), [&] {
    found_ = read_states(*file_);
    check_owner(found_, id_);
    synced_slot_ = found_.newest_of(OpenState::synced);
    slot_ = found_.newest_of(which);
    if (found_.newest() < 0)
      throw Error(Errc::enotnc, "no state of decomposed variables can be read",
                  "variables that are not decomposed can be read with any netCDF reader");
    if (slot_ < 0)
      throw Error(Errc::enotnc, "no state of decomposed variables was ever synced",
                  "chunk_state=newest opens the newest one");
    state_ = found_.at(slot_);
  });
}

void StateFile::put(int slot, const State& state) {
  file_->write_at(state_place(slot), print_state(state));
}

// The target is never the slot of the current state or of the synced one. Any other slot holds an
// older state, or one that `next` overrules, or nothing readable.
void StateFile::write(const State& next) {
  // The state's mark may be in the file. It is removed, because the next commit but one overwrites
  // data that only this state uses.
  if (mark_in_doubt_) put(slot_, state_);
  next_slot_ = has_damaged_slot() ? found_.damaged : store::next_slot(slot_, synced_slot_);
  next_ = next;
  next_.synced = false;
  put(next_slot_, next_);
}

void StateFile::written() {
  found_.records[static_cast<std::size_t>(next_slot_)] = state_ = next_;
  slot_ = next_slot_;
  mark_in_doubt_ = false;
  found_.damaged = -1;
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
  found_.records[static_cast<std::size_t>(slot_)] = state_;
  synced_slot_ = slot_;
  mark_in_doubt_ = false;
}

}  // namespace forebay::decomposed
