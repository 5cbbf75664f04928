// Encoding and decoding of many chunks, with the threads that a rank has cores for, and the cache
// of decoded chunks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/chunk_grid.h"
#include "array/schema.h"
#include "base/error.h"
#include "codec/pipeline.h"
#include "format/chunk_index.h"

namespace forebay::chunked {

/// The memory of one thread.
class TaskSlot {
 public:
  CodecWorkspace workspace;
  /// Uninitialised memory for one chunk, and for its stored form. Old content is lost.
  std::span<std::byte> chunk(Count bytes) { return chunk_.take(bytes); }
  std::span<std::byte> stored(Count bytes) { return stored_.take(bytes); }

 private:
  struct Room {
    std::unique_ptr<std::byte[]> memory;
    Count size = 0;
    std::span<std::byte> take(Count bytes);
  };
  Room chunk_, stored_;
};

/// Runs task(i, slot) for i in [0, count), on `threads` threads including the caller's. Every task
/// runs; the first error is thrown after all have ended. Tasks must not use MPI.
class TaskTeam {
 public:
  explicit TaskTeam(int threads) : slots_(static_cast<std::size_t>(threads)) {}
  int threads() const { return static_cast<int>(slots_.size()); }
  void run(std::size_t count, const std::function<void(std::size_t, TaskSlot&)>& task);

 private:
  std::vector<TaskSlot> slots_;
};

/// The stored form of chunks in a file format that is not Forebay's own. Several threads may use
/// it. Elements are in the order of bytes in which the format stores them.
class ChunkForm {
 public:
  virtual ~ChunkForm() = default;
  virtual bool lossy() const = 0;
  /// These are like Pipeline's functions of the same names. There are no checksums in the index.
  virtual Count most_bytes(const ChunkInfo& chunk) const = 0;
  virtual EncodedChunk encode(const ChunkInfo& chunk, std::span<const std::byte> raw,
                              CodecWorkspace& workspace) const = 0;
  virtual void decode(const ChunkInfo& chunk, const EncodedChunk& stored, std::span<std::byte> raw,
                      CodecWorkspace& workspace) const = 0;
};

/// What is needed to process the chunks of a variable.
struct VariableCoding {
  ChunkGrid grid;
  Pipeline pipeline;  ///< for the variable's type
  Type type;
  std::vector<std::byte> fill;  ///< external
  bool provisional = false;     ///< the grid is temporary until a shape is chosen
  /// If `grid` is for a coarser level: the number of the level, and the stored grid.
  int level = 0;
  std::optional<ChunkGrid> full = std::nullopt;
  std::shared_ptr<const ChunkForm> form = nullptr;  ///< null: chunks are as the pipeline makes them

  const ChunkGrid& stored_grid() const { return full ? *full : grid; }
  ChunkInfo info(Count id) const { return {type, stored_grid().box(id).extent, fill}; }
  bool lossy() const { return form ? form->lossy() : pipeline.lossy(); }
  Count most_bytes(Count id) const {
    return form ? form->most_bytes(info(id)) : pipeline.most_bytes(info(id));
  }
  /// The number of parts of a stored chunk, and how many of them, from the first, the level needs.
  int parts() const { return pipeline.parts(); }
  int parts_needed() const { return parts() - level; }
  /// The index of a part's entry in the variable's table.
  Count entry(Count chunk, int part) const { return chunk * parts() + part; }
};

/// `var` is chunked; `fault` is its table's (ChunkTable). `least_bytes` is used if no shape is
/// chosen yet (default_chunk_shape). The result is equal on all ranks at any time. Errors begin
/// with the variable's name: Errc::enotnc if header or index are invalid, Errc::enotsupport if this
/// build lacks the codec, Errc::einval for a level that does not exist.
VariableCoding make_coding(const Variable& var, const std::string& fault, Count least_bytes,
                           int level = 0);

/// Errc::enotnc, with the reason, if a variable's chunks cannot have so many levels.
void check_levels(const Variable& var, int levels);

/// Fills a chunk with the fill value.
void fill_chunk(std::span<const std::byte> value, std::span<std::byte> chunk);

/// A chunk, or a part of one, in its stored form. `bytes` is in the arena, or is the chunk's own
/// memory.
struct StoredChunk {
  std::span<const std::byte> bytes;
  std::uint64_t hash = 0;
  std::uint32_t skipped = 0;
  bool padded = false;  ///< zeros follow, up to a multiple of FileSpace::unit
  EncodedChunk::Bound bound = EncodedChunk::Bound::unknown;
};

/// Memory for encoded chunks. Threads take parts in any order; all are released together.
class Arena {
 public:
  /// Makes at least `bytes` available; invalidates what was taken before.
  void reset(Count bytes);
  std::byte* take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  std::atomic<std::size_t> used_ = 0;
};

/// `raw` has the bytes that `info` describes. The arena needs that size, rounded up to a multiple
/// of FileSpace::unit.
StoredChunk encode_chunk(const Pipeline& pipeline, const ChunkInfo& info,
                         std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                         CodecWorkspace& workspace);
/// Encodes all coding.parts() parts of a chunk. The arena needs arena_bytes(). `info` is
/// coding.info() with what the caller knows about the values.
void encode_chunk(const VariableCoding& coding, const ChunkInfo& info,
                  std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                  CodecWorkspace& workspace, std::span<StoredChunk> parts);
Count arena_bytes(const VariableCoding& coding, Count id);

/// A part of a chunk as it was read.
struct StoredPart {
  const Entry* entry = nullptr;
  std::span<const std::byte> bytes;
};

/// Errc::enotnc, naming variable and chunk, for an invalid entry: one of more bytes than encoding
/// can give, or outside of the `end` bytes that entries may refer to.
void check_entry(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, Offset end);
/// The same for the sum of the bytes of all parts that are read.
void check_size(const VariableCoding& coding, const std::string& name, Count id, Count bytes);
/// The same for a wrong checksum of the part with this number.
void verify_chunk(const VariableCoding& coding, const std::string& name, Count id, int number,
                  const StoredPart& part);

/// Verifies and decodes `parts`, which has coding.parts_needed() elements. Errc::enotnc, naming
/// variable and chunk, if a checksum is wrong or the bytes are not such a chunk.
std::optional<double> decode_chunk(const VariableCoding& coding, const std::string& name, Count id,
                                   std::span<const StoredPart> parts, std::span<std::byte> raw,
                                   CodecWorkspace& workspace);

/// The chunk's place in its variable, for messages: "T[2, 0:180, 360:720]".
std::string describe_chunk(const std::string& name, const ChunkGrid& grid, Count id);

/// Errc::enotnc for a chunk that cannot be read, with its name and the reason.
Error damaged_chunk(const std::string& name, const ChunkGrid& grid, Count id,
                    const std::string& why);

/// Decoded chunks. The least recently used ones are dropped if there are more than `limit` bytes.
class ChunkCache {
 public:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  explicit ChunkCache(Count limit) : limit_(limit) {}
  Bytes find(VarId var, Count id);
  void keep(VarId var, Count id, Bytes bytes);
  void drop(VarId var, Count id);
  void clear();
  Count limit() const { return limit_; }
  Count held() const { return held_; }

 private:
  using Key = std::pair<VarId, Count>;
  struct Item {
    Key key;
    Bytes bytes;
  };
  Count limit_, held_ = 0;
  std::list<Item> items_;  // most recently used first
  std::map<Key, std::list<Item>::iterator> index_;
};

}  // namespace forebay::chunked
