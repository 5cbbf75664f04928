// The file FILE.subfiles/state as one process sees it. One process writes it as the last step of a
// commit. It decides for all data files alike which of their writes count.
#pragma once

#include <memory>

#include "array/schema.h"
#include "base/byte_file.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

using store::OpenState;

/// Errc::enotnc if a variable with records cannot have as many as the state says.
void check_records(const State& state, const Schema& schema);

/// Local. Reads all slots.
store::Slots<State> read_states(ByteFile& file);
/// Errc::enotnc if a state is of a file with another id.
void check_owner(const store::Slots<State>& found, std::uint64_t id);

class StateFile {
 public:
  StateFile(std::shared_ptr<ByteFile> file, std::uint64_t id) : file_(std::move(file)), id_(id) {}

  /// Local. Fills an empty file that exists already. `first`, with this id, is the state before all
  /// commits.
  void create(const State& first = {});
  /// Local. Reads the file. Errc::enotnc, beginning with the file's path, if no slot can be read,
  /// or if the file belongs to another one.
  void load(OpenState which);

  const State& state() const { return commits_.state(); }
  /// Returns the newest commit that load() found to be on the device; null: there was none.
  const State* synced() const { return synced_slot_ < 0 ? nullptr : &found_.at(synced_slot_); }
  /// Returns the highest epoch of all slots that load() found, whichever state is open.
  std::uint64_t newest_epoch() const { return found_.last(); }
  /// Returns whether a slot is damaged, which no kill causes. The slot may have held the newest
  /// state. Then data files have later roots.
  bool has_damaged_slot() const { return commits_.has_damaged_slot(); }
  /// Local. These four are those of store::Commits.
  void write(const State& next);
  void written() { commits_.written(next_); }
  bool mark_synced();
  void marked() { commits_.marked(); }
  ByteFile& file() const { return *file_; }

 private:
  void put(int slot, const State& state);

  std::shared_ptr<ByteFile> file_;
  std::uint64_t id_;
  store::Slots<State> found_;  // as load() found them
  int synced_slot_ = -1;       // likewise
  store::Commits<State> commits_;
  State next_;  // the last one that write() wrote
};

}  // namespace forebay::decomposed
