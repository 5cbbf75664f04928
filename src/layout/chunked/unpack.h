// From chunks to the memory of those who asked: what every read comes to once the stored bytes of a
// chunk are at hand, whichever way they came.
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

/// Memory that elements go to, in the order of a selection: with their bytes reversed, or
/// converted.
class Target {
 public:
  /// Reversed by words of `swap` bytes; 1: as they are.
  Target(std::byte* memory, int swap) : memory_(memory), swap_(swap) {}
  /// Of the file's type `external`, as values of `type`.
  Target(std::byte* memory, Type external, Type type);

  /// `length` external bytes, of whole elements, for byte `at` of all that was selected. True if a
  /// value did not fit the type.
  bool put(const std::byte* from, Count at, Count length) const;
  /// The place of such bytes; null where they are converted.
  std::byte* place(Count at) const { return converts_ ? nullptr : memory_ + at; }
  /// What stands in place() is external, and becomes what put() would have made of it.
  void settle(std::byte* place, Count length) const;

 private:
  std::byte* memory_;
  int swap_ = 1;
  Type external_ = Type::none, type_ = Type::none;
  bool converts_ = false;
};

/// The part of one request that a chunk has.
using Part = std::pair<ChunkPieces, Target>;

/// Hands out elements of a chunk. True if a value did not fit its type.
bool put_part(const Part& part, const std::byte* chunk);

/// A chunk of a variable, and the stored bytes of the parts that are needed, if it is there.
struct Chunk {
  const VariableCoding& coding;
  const std::string& name;  ///< of the variable
  Count id;
  std::span<const StoredPart> parts;

  /// Whether it has stored bytes; else it is fill values.
  bool is_stored() const { return !parts.empty() && !coding.provisional; }
  /// All elements, as the file has them. Throws as decode_chunk does.
  void decode(std::span<std::byte> raw, CodecWorkspace& workspace) const;
};

/// Decodes a chunk and hands out its elements: straight into the memory of who asked for all of it
/// in one piece. True if a value did not fit its type. Throws as decode_chunk does; what the part's
/// memory has then is not to be used.
bool unpack(const Chunk& chunk, const Part& part, TaskSlot& slot);

}  // namespace forebay::chunked
