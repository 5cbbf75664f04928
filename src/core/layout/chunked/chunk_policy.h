// What a layout decides whose variables are stored as chunks in several parts (Pipeline::parts),
// each part a level. The layout `chunked` encodes, stores and finds these chunks like all others,
// and asks the policy of that layout where it could do one or the other.
//
// A layout brings its policy in its LayoutEntry. At most one layout of a build has one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "array/schema.h"
#include "comm/comm.h"
#include "layout/chunked/operation.h"
#include "method/method.h"

namespace forebay {
struct LayoutEntry;
}

namespace forebay::chunked {

/// A variable whose chunks are written.
struct WrittenVariable {
  const Variable* var;
  const ChunkGrid* grid;
};

/// An encoded chunk with all its parts.
struct SizedChunk {
  std::size_t written = 0;  ///< index of its variable among those that are written
  Count id = 0;
  Count bytes = 0;
};

class ChunkPolicy {
 public:
  /// Local, equal on all ranks. How a variable of the layout is cut, and the codec of its chunks.
  /// `var.chunking` has the codec that the method or the program set, and no shape. Errc::einval if
  /// the layout cannot use the codec.
  virtual Chunking cut(const Method& method, const Variable& var) const = 0;
  /// Collective. Sets owner, local and shared of the chunks in several parts (`is_its`); others
  /// stay as they are. `mine` are this rank's accesses.
  virtual void deal(const Comm& comm, Operation& op, std::span<const Access> mine,
                    const std::function<bool(const PlannedChunk&)>& is_its) const = 0;
  /// Local, equal on all ranks. Returns whether the parts of a level of all chunks lie together,
  /// and not the parts of a chunk.
  virtual bool stores_by_level(const Method& method) const = 0;
  /// Local, equal on all ranks. Returns whether the sizes of chunks determine their files, if they
  /// lie in several.
  virtual bool balances_files(const Method& method) const = 0;
  /// Collective. Returns the file of each of this rank's chunks, from 0 to files - 1, among files
  /// that are written together. `written` and `files` are equal on all ranks. A rank's cost does
  /// not grow with the number of ranks: nobody gathers the sizes of all chunks.
  virtual std::vector<std::uint32_t> share_out(const Comm& comm,
                                               std::span<const WrittenVariable> written,
                                               std::span<const SizedChunk> mine,
                                               Count files) const = 0;

 protected:
  ~ChunkPolicy() = default;
};

/// Returns the layout that has a policy, whose chunks are in several parts; null: the build has
/// none.
const LayoutEntry* layout_of_parts();
/// Returns the policy of the layout that the method's rules choose for a variable; null if that
/// layout has none.
const ChunkPolicy* wanted_policy(const Method& method, const Variable& var);
/// Returns the policy for chunks in several parts. Null only if no codec of the build makes such.
const ChunkPolicy* policy_of_parts();
/// Returns whether any variable has chunks in several parts.
bool has_parts(const Schema& schema);

}  // namespace forebay::chunked
