// The chunks of a file, read by one process without MPI: facts from the index (for forebay info and
// check), and values. It is the layout's reader for tools and Python. Hou 2023, §5.2;
// docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "array/type.h"
#include "base/error.h"
#include "base/extent.h"
#include "base/types.h"
#include "format/chunk_index.h"
#include "layout/chunked/coder.h"
#include "layout/chunked/files_beside.h"
#include "layout/chunked/loaded_index.h"
#include "layout/chunked/unpack.h"
#include "layout/variable_reader.h"

namespace forebay {

/// A root slot as found in the file.
struct RootSlot {
  enum class State { empty, valid, damaged };
  State state = State::empty;
  chunked::Root root;   ///< of a valid one
  std::string problem;  ///< of a damaged slot, or of a valid one with a damaged copy
};

/// The whole index. Sizes are in bytes. Offsets are in the file that holds the index.
struct IndexFacts {
  bool apart = false;  ///< the index has a file of its own, and chunks are in data files
  Offset root = 0;     ///< of the first slot
  std::vector<RootSlot> slots;
  std::uint32_t generation = 0;  ///< of the state in use; 0: there is none
  bool synced = false;           ///< the state is known to be on the device
  bool newest = false;           ///< chunked::LoadedIndex::is_newest
  bool certain = true;           ///< false: a damaged slot may have held a newer state
  Count index_bytes = 0;         ///< the directory and all pages
  Count free_bytes = 0;          ///< unused by this state, between the slots and `end`
  Offset end = 0;                ///< one past the last byte that this state uses
  std::optional<Error> damage;   ///< why no chunk can be read
};

/// The index of a file in memory.
struct ChunkIndex {
  IndexFacts facts;
  Offset shift = 0;                         ///< the origin of offsets in entries
  Count numrecs = 0;                        ///< records of the file, by the index
  std::vector<chunked::ChunkTable> tables;  ///< one for each variable; empty if facts.damage is set
};

/// Reads the three root slots at `root`. A slot outside the file counts as damaged. Throws only
/// errors of `read`.
std::vector<RootSlot> read_root_slots(const ReadInto& read, Offset root, Offset file_size);

/// Returns the valid slot of the newest state, or of the newest synced one; null: there is none.
const RootSlot* newest_of(std::span<const RootSlot> slots, bool synced = false);

/// Loads the newest published state, or the newest synced one (chunked::read_index). Damage is kept
/// in facts.damage and never throws.
ChunkIndex load_chunk_index(const ReadInto& read, Offset root, Offset file_size,
                            const Schema& schema,
                            chunked::OpenState state = chunked::OpenState::newest);

/// One chunked variable, as stored. Bytes are those of present chunks.
struct ChunkFacts {
  std::vector<Count> shape;  ///< of a chunk; empty if not chosen yet
  std::vector<Count> grid;   ///< chunks per dimension, for the records there are
  Count chunks = 0;          ///< in the grid; the counts below are of present chunks
  Count present = 0;
  Count raw = 0;           ///< no stage was applied
  Count partly = 0;        ///< some stages were skipped, or all and another codec is used
  Count masked = 0;        ///< missing values are kept apart
  Count stored_bytes = 0;  ///< in the file
  Count raw_bytes = 0;     ///< after decoding
  /// Stored bytes by level, from 0 (the finest details) to the coarsest, if chunks have levels.
  std::vector<Count> level_bytes;
  std::string codec, reason;
};

/// How far a level of a variable can be from the written values.
struct LevelErrors {
  double error = 0;       ///< from what the transform makes of these at that level
  double resolution = 0;  ///< from the variable, when each chunk is taken back to level 0
};

/// A stored chunk.
struct ChunkPlace {
  std::span<const Count> at;  ///< in the grid of chunks
  Count bytes = 0;            ///< in the file
  /// Set if it is known where chunks lie, and each chunk is contiguous.
  std::optional<Offset> place;
  bool filtered = true;  ///< false: some of the variable's filters or codecs were skipped
  std::optional<std::uint32_t> file = std::nullopt;  ///< the data file that it lies in, if any
};

/// Verifies and decodes chunks. Immutable, so several threads may use one.
class FileChunks final : public VariableReader {
 public:
  /// The files that hold index and chunks, if they lie beside the classic file.
  struct Beside;
  /// `read` reads the file that holds the index, of `file_size` bytes; several threads call it.
  /// `schema` must outlive the reader. The shapes and reasons of its chunked variables, and its
  /// number of records, are set from the index.
  FileChunks(Schema& schema, ChunkIndex index, Offset file_size, ReadInto read,
             std::shared_ptr<Beside> beside = nullptr);

  const FileChunks* chunks() const override { return this; }
  bool keeps(const Variable& var) const override { return var.chunking.has_value(); }
  bool is_newest() const override { return index_.facts.newest; }
  bool changed() const override;
  const IndexFacts& index() const { return index_.facts; }
  /// The origin of offsets in entries.
  Offset shift() const { return index_.shift; }
  /// Returns the tables of the index below a root, as far as they are undamaged; nothing if its
  /// directory cannot be read. Calls tell() for each fault.
  std::optional<std::vector<chunked::ChunkTable>> tables_below(
      const chunked::Root& root, const std::function<void(const chunked::IndexFault&)>& tell) const;
  /// Returns the bytes of chunks in each data file, by number, empty files included; nothing if
  /// chunks are not in data files.
  std::map<std::uint32_t, Count> bytes_of_files() const;
  /// Returns the faults of data files, one sentence each. It covers files with chunks, and others
  /// that are there but not read.
  std::vector<std::string> problems_of_files() const;
  /// Errc::einval if the variable is not chunked. Linear in the variable's chunks.
  ChunkFacts facts(VarId var) const;
  /// Visits every stored chunk of a variable, in any order. Errc::einval as facts().
  void each_stored(VarId var, const std::function<void(const ChunkPlace&)>& visit) const;

  /// Chunks that were never written have the fill value. Decodes on up to `threads` threads, the
  /// caller's among them. Each holds one chunk, decoded and as stored, beside `out` and the codec's
  /// memory. Errc::enotnc for a damaged index or chunk, Errc::enotsupport for a codec that this
  /// build lacks. `level`: the selection is in a coarser level of the variable (levels()), whose
  /// shape coding(var, level) has.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads = 1,
            int level = 0) const override;
  /// Returns the number of a variable's coarser levels; 0 also for a refused variable.
  int levels(VarId var) const override;
  /// Returns the errors of each level, from 0 to the coarsest, according to all its chunks. Reads
  /// the first part of each chunk. Errc::enotnc as read().
  std::vector<LevelErrors> level_errors(VarId var) const;

  /// Returns why no chunk of a variable can be decoded, if so. Either this build lacks the codec
  /// (Errc::enotsupport), or its shape is impossible or the header contradicts the index
  /// (Errc::enotnc).
  const std::optional<Error>& refused(VarId var) const;
  const chunked::ChunkTable& table(VarId var) const;
  /// Only for variables that are not refused, and for levels that they have.
  const chunked::VariableCoding& coding(VarId var, int level = 0) const {
    return item(var).codings[static_cast<std::size_t>(level)];
  }

  /// Returns one part of a stored chunk, verified but not decoded; empty if it has no bytes. Errors
  /// are those of load().
  std::vector<std::byte> part(VarId var, Count id, int number) const;
  const std::string& name(VarId var) const {
    return schema_.vars[static_cast<std::size_t>(var)].name;
  }
  /// Returns the type that elements of `stored` have when they are converted to `type`.
  Type external(Type stored, Type type) const;

  /// Reads the stored bytes of a chunk in `table` into slot.stored(), and verifies their checksums.
  /// With `decode`, decodes them into slot.chunk() and returns that. Errc::enotnc with the names of
  /// the variable and the chunk's box.
  std::span<const std::byte> load(VarId var, Count id, const chunked::ChunkTable& table,
                                  bool decode, chunked::TaskSlot& slot) const;

 private:
  struct Item {
    std::vector<chunked::VariableCoding> codings;  // by level; empty if the variable is refused
    std::optional<Error> refused;
  };
  /// The result is valid as long as `parts` and the slot's stored bytes.
  chunked::Chunk fetch(const chunked::VariableCoding& coding, VarId var, Count id,
                       const chunked::ChunkTable& table, chunked::TaskSlot& slot,
                       std::vector<chunked::StoredPart>& parts) const;
  /// check_place() for a part of a chunk, and the read of its stored bytes, which follows.
  void check(const chunked::VariableCoding& coding, VarId var, Count id,
             const chunked::Entry& entry, const chunked::FileBoxes& boxes,
             chunked::LookedAt& at) const;
  void read_checked(const chunked::VariableCoding& coding, VarId var, Count id,
                    const chunked::Entry& entry, const chunked::LookedAt& at,
                    std::span<std::byte> bytes) const;
  std::map<std::uint32_t, Count> bytes_of_chunks() const;
  const Item& item(VarId var) const { return items_[static_cast<std::size_t>(var)]; }

  const Schema& schema_;
  ChunkIndex index_;
  Offset file_size_;
  std::shared_ptr<Beside> beside_;  // what read_ holds refers to it
  ReadInto read_;
  std::vector<Item> items_;
};

/// Reads the index of a file that has one. If it is damaged, only reading such a variable fails.
std::unique_ptr<VariableReader> open_chunks(const ReaderSite& site);

}  // namespace forebay
