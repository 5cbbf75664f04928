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
  State state = first;
  state.id = id_;
  commits_ = {state, 0};
  std::vector<std::byte> bytes = print_state(state);
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
    const int slot = found_.newest_of(which);
    if (found_.newest() < 0)
      throw Error(Errc::enotnc, "no state of decomposed variables can be read",
                  "variables that are not decomposed can be read with any netCDF reader");
    if (slot < 0)
      throw Error(Errc::enotnc, "no state of decomposed variables was ever synced",
                  "chunk_state=newest opens the newest one");
    commits_ = {found_.at(slot), slot, synced_slot_, found_.damaged};
  });
}

void StateFile::put(int slot, const State& state) {
  file_->write_at(state_place(slot), print_state(state));
}

void StateFile::write(const State& next) {
  next_ = next;
  next_.synced = false;
  commits_.write(next_, [this](int slot, const State& state) { put(slot, state); });
}

bool StateFile::mark_synced() {
  return commits_.mark_synced([this](int slot, const State& state) { put(slot, state); });
}

}  // namespace forebay::decomposed
