// A stage that several datasets share. Each member has a HoldingStage, which keeps its collective
// writes. The shared stage decides how much may be kept, and writes what waits in all of them at
// once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "stage/stage.h"

namespace forebay {

/// Writes together what waits in several datasets.
class SharedStage {
 public:
  virtual ~SharedStage() = default;
  /// Collective. Writes to the files what waits in all of the datasets. What cannot be written in
  /// this way stays waiting. Throws if ranks disagree.
  virtual void write() = 0;
  /// Local. Returns how many more bytes may wait on this rank.
  virtual Count room() const = 0;
  /// Local. Returns memory for waiting writes; blocks that come back are used again. It counts
  /// towards room(), and no memory is kept beyond that limit.
  virtual std::unique_ptr<std::byte[]> take_memory(Count bytes) = 0;
  virtual void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept = 0;
};

/// Holds collective writes until they must be in the file, or the shared stage has no room for
/// more. It writes by itself what is still held after SharedStage::write().
class HoldingStage : public Stage {
 public:
  /// Local. The held writes in the order of calls; the number of operations is equal on all ranks.
  virtual std::span<Request> held() = 0;
  virtual std::span<Request> held(std::size_t operation) = 0;
  virtual std::size_t operations() const = 0;
  /// Local, equal on all ranks. The number of records to publish once that operation is in the
  /// file. It excludes records of later operations, and is not less than the published number.
  virtual Count records(std::size_t operation) const = 0;
  virtual void told(Count records) = 0;  ///< local, equal on all ranks: this number was published
  virtual Count held_bytes() const = 0;  ///< memory of this rank for held writes
  virtual void forget_held() = 0;        ///< to be called when they are in the file
};

/// Stage `memory` for a member of a shared stage.
std::unique_ptr<HoldingStage> make_holding_stage(const StageSite& site, SharedStage& shared);

}  // namespace forebay
