// Encoding and decoding many chunks, over the threads that a rank has cores for, and the cache of
// decoded chunks.
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

/// What one thread works with.
class TaskSlot {
 public:
  CodecWorkspace workspace;
  /// Memory for one chunk, and for one as it is stored; not initialised. What was there before is
  /// gone.
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

/// Runs task(i, slot) for i in [0, count), on `threads` threads with the caller's among them.
/// Every task runs; the first error is thrown after all have ended. No MPI in tasks.
class TaskTeam {
 public:
  explicit TaskTeam(int threads) : slots_(static_cast<std::size_t>(threads)) {}
  int threads() const { return static_cast<int>(slots_.size()); }
  void run(std::size_t count, const std::function<void(std::size_t, TaskSlot&)>& task);

 private:
  std::vector<TaskSlot> slots_;
};

/// What there is to know of a chunked variable in order to work on its chunks.
struct VariableCoding {
  ChunkGrid grid;
  Pipeline pipeline;  ///< for the variable's type
  Type type;
  std::vector<std::byte> fill;  ///< external
  bool provisional = false;     ///< the grid stands in until a shape is chosen
  /// Where `grid` is that of a coarser level: how coarse, and the grid of what is stored.
  int level = 0;
  std::optional<ChunkGrid> full = std::nullopt;

  const ChunkGrid& stored_grid() const { return full ? *full : grid; }
  ChunkInfo info(Count id) const { return {type, stored_grid().box(id).extent, fill}; }
  /// Parts that a chunk is stored in, and how many of them the level needs: the first ones.
  int parts() const { return pipeline.parts(); }
  int parts_needed() const { return parts() - level; }
  /// The number of a part's entry in the variable's table.
  Count entry(Count chunk, int part) const { return chunk * parts() + part; }
};

/// `var` is chunked; `fault` is its table's (ChunkTable). `least_bytes` is for a shape that is
/// still open (default_chunk_shape). The same on all ranks, whenever they ask. Errors begin with
/// the variable's name: Errc::enotnc where header or index say what cannot be, Errc::enotsupport
/// for a codec that this build lacks, Errc::einval for a level that it does not have.
VariableCoding make_coding(const Variable& var, const std::string& fault, Count least_bytes,
                           int level = 0);

/// Errc::enotnc, saying why, where a variable's chunks cannot be hierarchies of so many levels.
void check_levels(const Variable& var, int levels);

/// Fills a chunk with the fill value.
void fill_chunk(std::span<const std::byte> value, std::span<std::byte> chunk);

/// A chunk, or a part of one, as it goes to storage; `bytes` is the arena's, or the chunk's own
/// memory.
struct StoredChunk {
  std::span<const std::byte> bytes;
  std::uint64_t hash = 0;
  std::uint32_t skipped = 0;
  bool padded = false;  ///< zeros follow, up to a multiple of FileSpace::unit
};

/// Memory for encoded chunks: taken in any order by several threads, given back all at once.
class Arena {
 public:
  /// Room for at least `bytes`; what was taken before is gone.
  void reset(Count bytes);
  std::byte* take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  std::atomic<std::size_t> used_ = 0;
};

/// `raw` has the bytes of `info`; the arena has room for as many, up to a multiple of
/// FileSpace::unit.
StoredChunk encode_chunk(const Pipeline& pipeline, const ChunkInfo& info,
                         std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                         CodecWorkspace& workspace);
/// All parts of a chunk, coding.parts() of them; the arena has room for arena_bytes(). `info` is
/// coding.info() and what the caller knows of the values.
void encode_chunk(const VariableCoding& coding, const ChunkInfo& info,
                  std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                  CodecWorkspace& workspace, std::span<StoredChunk> parts);
Count arena_bytes(const VariableCoding& coding, Count id);

/// A part of a chunk as it was read.
struct StoredPart {
  const Entry* entry = nullptr;
  std::span<const std::byte> bytes;
};

/// Errc::enotnc, naming variable and chunk, for an entry that is not to be read: of more bytes than
/// encoding leaves, or outside of the `end` bytes that entries may tell of.
void check_entry(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, Offset end);
/// The same for all parts of a chunk that are to be read, of so many bytes together.
void check_size(const VariableCoding& coding, const std::string& name, Count id, Count bytes);
/// The same where the checksum of a part, the `number`th, is wrong.
void verify_chunk(const VariableCoding& coding, const std::string& name, Count id, int number,
                  const StoredPart& part);

/// Verifies and decodes `parts`, coding.parts_needed() of them. Errc::enotnc naming variable and
/// chunk when a checksum is wrong or the bytes are no such chunk.
std::optional<double> decode_chunk(const VariableCoding& coding, const std::string& name, Count id,
                                   std::span<const StoredPart> parts, std::span<std::byte> raw,
                                   CodecWorkspace& workspace);

/// The chunk's place in its variable, for messages: "T[2, 0:180, 360:720]".
std::string describe_chunk(const std::string& name, const ChunkGrid& grid, Count id);

/// Errc::enotnc for a chunk that cannot be read, saying which, and why.
Error damaged_chunk(const std::string& name, const ChunkGrid& grid, Count id,
                    const std::string& why);

/// Decoded chunks, least recently used ones dropped first when there are more than `limit` bytes.
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
