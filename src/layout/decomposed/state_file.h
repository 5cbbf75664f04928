// FILE.subfiles/state, without ranks: the last thing that a commit writes, by one process, and what
// says for all data files alike which of their writes count.
#pragma once

#include <memory>
#include <optional>

#include "array/schema.h"
#include "base/byte_file.h"
#include "format/decomposed.h"

namespace forebay::decomposed {

enum class OpenState { newest, synced };

/// Errc::enotnc where a variable with records cannot have so many.
void check_records(const State& state, const Schema& schema);

class StateFile {
 public:
  StateFile(std::shared_ptr<ByteFile> file, std::uint64_t id) : file_(std::move(file)), id_(id) {}

  /// Local. An empty file that exists already: no commit yet.
  void create();
  /// Local. What is there; Errc::enotnc, beginning with the file's path, if no slot can be read, or
  /// it belongs to another file.
  void load(OpenState which);

  const State& state() const { return state_; }
  /// The newest commit that is on the device, if there is one.
  const std::optional<State>& synced() const { return synced_; }
  /// The highest epoch of any slot, whichever is the state.
  std::uint64_t newest_epoch() const { return newest_epoch_; }
  /// Local. Makes `next` the state. If it fails the file may have it, or the one before.
  void commit(const State& next);
  /// Local. What was committed last is on the device; false: that was known.
  bool mark_synced();
  ByteFile& file() const { return *file_; }

 private:
  void write(int slot, const State& state);

  std::shared_ptr<ByteFile> file_;
  std::uint64_t id_;
  State state_;
  std::uint64_t newest_epoch_ = 0;
  int slot_ = 0;
  std::optional<State> synced_;
  int synced_slot_ = -1;
};

}  // namespace forebay::decomposed
