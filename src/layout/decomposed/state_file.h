// FILE.subfiles/state, without ranks: the last thing that a commit writes, by one process, and what
// says for all data files alike which of their writes count.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "array/schema.h"
#include "base/byte_file.h"
#include "format/decomposed.h"

namespace forebay::decomposed {

enum class OpenState { newest, synced };

/// Errc::enotnc where a variable with records cannot have so many.
void check_records(const State& state, const Schema& schema);

/// What the slots of a state tell.
struct StateSlots {
  std::array<std::optional<State>, slots> states;  ///< nothing: never written, or damaged
  int damaged = -1;    ///< a slot that is neither whole nor zeros, or cut
  bool empty = false;  ///< the file has no bytes
};
/// Local.
StateSlots read_slots(ByteFile& file);

class StateFile {
 public:
  StateFile(std::shared_ptr<ByteFile> file, std::uint64_t id) : file_(std::move(file)), id_(id) {}

  /// Local. An empty file that exists already: `first`, of this id, is the state ahead of all
  /// commits.
  void create(const State& first = {});
  /// Local. What is there; Errc::enotnc, beginning with the file's path, if no slot can be read, or
  /// it belongs to another file.
  void load(OpenState which);

  const State& state() const { return state_; }
  /// The newest commit that is on the device, if there is one.
  const std::optional<State>& synced() const { return synced_; }
  /// The highest epoch of any slot, whichever is the state.
  std::uint64_t newest_epoch() const { return newest_epoch_; }
  /// A slot is damaged, which no kill does. It may have been the newest state: then data files have
  /// later roots.
  bool has_damaged_slot() const { return damaged_slot_ >= 0; }
  /// Local. Writes `next`, whose epoch is higher than all that were written. It is the state once
  /// written() tells that the file has it. Until then the file may have it or not: what either
  /// state uses has to stay, until one with a higher epoch is there.
  void write(const State& next);
  void written();
  /// Local. Writes that what was committed last is on the device; false: that was known. It counts
  /// once marked() tells that this is on the device, too.
  bool mark_synced();
  void marked();
  ByteFile& file() const { return *file_; }

 private:
  void put(int slot, const State& state);

  std::shared_ptr<ByteFile> file_;
  std::uint64_t id_;
  State state_;
  std::uint64_t newest_epoch_ = 0;
  int slot_ = 0;
  std::optional<State> synced_;
  int synced_slot_ = -1;
  int damaged_slot_ = -1;
  State next_;  // that was written last
  int next_slot_ = 0;
  bool mark_in_doubt_ = false;  // of the state
};

}  // namespace forebay::decomposed
