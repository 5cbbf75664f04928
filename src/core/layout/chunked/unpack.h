// Copies elements from chunks to the memory of requests: the last step of every read, however the
// stored bytes of a chunk were obtained.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "array/chunk_grid.h"
#include "array/type.h"
#include "base/types.h"
#include "format/chunk_index.h"
#include "layout/chunked/coder.h"

namespace forebay::chunked {

/// The destination of elements, in the order of a selection. Their bytes are reversed, or their
/// values converted.
class Target {
 public:
  /// Reverses words of `swap` bytes; 1: no change.
  Target(std::byte* memory, int swap) : memory_(memory), swap_(swap) {}
  /// Converts elements of the file's type `external` to `type`.
  Target(std::byte* memory, Type external, Type type);

  /// Stores `length` external bytes, whole elements, at byte `at` of the selection. Returns true if
  /// a value did not fit the type.
  bool put(const std::byte* from, Count at, Count length) const;
  /// The address of such bytes; null if they are converted.
  std::byte* place(Count at) const { return converts_ ? nullptr : memory_ + at; }
  /// Converts external bytes in place(), with the same result as put().
  void settle(std::byte* place, Count length) const;

 private:
  std::byte* memory_;
  int swap_ = 1;
  Type external_ = Type::none, type_ = Type::none;
  bool converts_ = false;
};

/// The part of one request that is in a chunk.
using Part = std::pair<ChunkPieces, Target>;

/// Copies elements out of a chunk. Returns true if a value did not fit its type.
bool put_part(const Part& part, const std::byte* chunk);

/// A chunk of a variable, and the stored bytes of the needed parts, if it exists.
struct Chunk {
  const VariableCoding& coding;
  const std::string& name;  ///< of the variable
  Count id;
  std::span<const StoredPart> parts;

  /// Returns whether it has stored bytes; otherwise all its elements are fill values.
  bool is_stored() const { return !parts.empty() && !coding.provisional; }
  /// All elements in external form. Throws as decode_chunk does.
  void decode(std::span<std::byte> raw, CodecWorkspace& workspace) const;
};

/// Decodes a chunk and copies its elements to the request. It decodes directly into the request's
/// memory if that takes the whole chunk contiguously. Returns true if a value did not fit its type.
/// Throws as decode_chunk does; the part's memory is then undefined.
bool unpack(const Chunk& chunk, const Part& part, TaskSlot& slot);

}  // namespace forebay::chunked
