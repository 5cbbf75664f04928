// The chunks of a file as one process reads them, without MPI: what the index tells (for forebay
// info and check), and values. Layout chunked, D5 §5.2; docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
#include "layout/chunked/loaded_index.h"
#include "layout/chunked/unpack.h"
#include "layout/data_files.h"

namespace forebay {

/// A root slot as it was found in the file.
struct RootSlot {
  enum class State { empty, valid, damaged };
  State state = State::empty;
  chunked::Root root;   ///< of a valid one
  std::string problem;  ///< of a damaged one, or of a valid one of which a copy is damaged
};

/// The index as a whole. Sizes in bytes, offsets from the beginning of the file that it lies in.
struct IndexFacts {
  bool apart = false;  ///< it lies in a file of its own, and chunks in data files
  Offset root = 0;     ///< of the first slot
  std::vector<RootSlot> slots;
  std::uint32_t generation = 0;  ///< of the state that is read; 0: none can be
  bool synced = false;           ///< that state is known to have reached the device
  bool newest = false;           ///< chunked::LoadedIndex::is_newest
  bool certain = true;           ///< no slot is damaged: it might have named a newer state
  Count index_bytes = 0;         ///< the directory and all pages
  Count free_bytes = 0;          ///< between the slots and `end`, used by nothing in this state
  Offset end = 0;                ///< one past the last byte that this state uses
  std::optional<Error> damage;   ///< why no chunk can be read
};

/// The index of a file in memory.
struct ChunkIndex {
  IndexFacts facts;
  Offset shift = 0;                         ///< what offsets of entries count from
  Count numrecs = 0;                        ///< records of the file as the index has them
  std::vector<chunked::ChunkTable> tables;  ///< one a variable; empty ones where facts.damage
};

/// The three root slots at `root`. One that lies outside the file is damaged. Nothing is thrown but
/// errors of `read`.
std::vector<RootSlot> read_root_slots(const ReadInto& read, Offset root, Offset file_size);

/// The newest published state, or the newest synced one (chunked::read_index). Never throws for
/// damage: that is kept in facts.damage.
ChunkIndex load_chunk_index(const ReadInto& read, Offset root, Offset file_size,
                            const Schema& schema,
                            chunked::OpenState state = chunked::OpenState::newest);

/// One chunked variable, as stored. "Bytes" count chunks that are present.
struct ChunkFacts {
  std::vector<Count> shape;  ///< of a chunk; empty while none has been chosen
  std::vector<Count> grid;   ///< chunks per dimension, for the records there are
  Count chunks = 0;          ///< in that grid; the others of these count present ones
  Count present = 0;
  Count raw = 0;           ///< stored as they are: no stage made them smaller, or there is none
  Count partly = 0;        ///< some stages skipped, others not
  Count stored_bytes = 0;  ///< in the file
  Count raw_bytes = 0;     ///< after decoding
  /// Of these, by level, from 0, which has the finest details, to the coarsest; of variables in
  /// patches.
  std::vector<Count> level_bytes;
  std::string codec, reason;
};

/// How far a level of a variable in patches can be from what was written.
struct LevelErrors {
  double error = 0;       ///< from what the transform makes of it at that level
  double resolution = 0;  ///< taken back to level 0 patch by patch, from the variable itself
};

/// A chunk that is in the file.
struct ChunkPlace {
  std::span<const Count> at;  ///< its place in the grid of chunks
  Count bytes = 0;            ///< in the file
  /// In the file, where that is known, and chunks lie there, each in one piece.
  std::optional<Offset> place;
  bool filtered = true;  ///< false: some of the variable's filters or codecs were left out
  std::optional<std::uint32_t> file = std::nullopt;  ///< the data file that it lies in, if it does
};

/// Verifies and decodes chunks. Immutable after construction: several threads may use one.
class FileChunks {
 public:
  /// `read` is called by several threads: it reads the file that the index lies in, of `file_size`
  /// bytes; `files` are the data files, where chunks lie in such. Both outlive the reader, as does
  /// `schema`; the shapes and reasons of its chunked variables, and the number of records, are set
  /// from the index.
  FileChunks(Schema& schema, ChunkIndex index, Offset file_size, ReadInto read,
             data_files::Opened* files = nullptr);

  const IndexFacts& index() const { return index_.facts; }
  /// What offsets of entries count from.
  Offset shift() const { return index_.shift; }
  /// Bytes of the file that the index lies in, and how many it has.
  void read_raw(Offset offset, std::span<std::byte> out) const { read_(offset, out); }
  Offset file_size() const { return file_size_; }
  /// Bytes of chunks in each data file, by its number, those without any too; none where chunks do
  /// not lie in such.
  std::map<std::uint32_t, Count> bytes_of_files() const;
  /// What is wrong with data files, a sentence each: with those that chunks lie in, and with others
  /// that are there, though nothing is read of them.
  std::vector<std::string> problems_of_files() const;
  /// Errc::einval for a variable that is not chunked. Linear in the variable's chunks.
  ChunkFacts facts(VarId var) const;
  /// Every chunk of a variable that is in the file, in any order. Errc::einval as facts().
  void each_stored(VarId var, const std::function<void(const ChunkPlace&)>& visit) const;

  /// As ClassicFile::read, for a checked selection that is not empty. Chunks that were never
  /// written are the fill value. Chunks are decoded on up to `threads` threads, the caller's among
  /// them; each holds one chunk, decoded and as stored, besides `out` (and what the codec needs).
  /// Errc::enotnc for a damaged index or chunk, Errc::enotsupport for a codec that this build
  /// lacks. `level`: what is selected is the variable at a coarser level (levels()), of which
  /// coding(var, level) has the shape.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads = 1,
            int level = 0) const;
  /// How many coarser levels a variable has; 0 also for one that is refused.
  int levels(VarId var) const;
  /// Of each level, from 0 to the coarsest, by what all its patches say. Reads the first part of
  /// each. Errc::enotnc as read().
  std::vector<LevelErrors> level_errors(VarId var) const;

  /// Why no chunk of a variable can be decoded, if so: its codec is not in this build
  /// (Errc::enotsupport), its shape cannot be, or the header contradicts the index (Errc::enotnc).
  const std::optional<Error>& refused(VarId var) const;
  const chunked::ChunkTable& table(VarId var) const;
  /// Only of variables that are not refused, and levels that they have.
  const chunked::VariableCoding& coding(VarId var, int level = 0) const {
    return item(var).codings[static_cast<std::size_t>(level)];
  }

  /// One part of a chunk that is there, as stored, verified; empty where it has no bytes. Errors as
  /// load().
  std::vector<std::byte> part(VarId var, Count id, int number) const;
  const std::string& name(VarId var) const {
    return schema_.vars[static_cast<std::size_t>(var)].name;
  }
  /// What elements of a type count as where they become values of another.
  Type external(Type stored, Type type) const;

  /// Reads the stored bytes of a chunk, which `table` tells of, into slot.stored() and verifies
  /// their checksums; decodes them into slot.chunk(), which it returns, if asked to. Errc::enotnc
  /// naming the variable and the chunk's box.
  std::span<const std::byte> load(VarId var, Count id, const chunked::ChunkTable& table,
                                  bool decode, chunked::TaskSlot& slot) const;

 private:
  struct Item {
    std::vector<chunked::VariableCoding> codings;  // by level; none of a variable that is refused
    std::optional<Error> refused;
  };
  /// The parts stay valid as long as `parts` and the slot's stored bytes do.
  chunked::Chunk fetch(const chunked::VariableCoding& coding, VarId var, Count id,
                       const chunked::ChunkTable& table, chunked::TaskSlot& slot,
                       std::vector<chunked::StoredPart>& parts) const;
  std::map<std::uint32_t, Count> bytes_of_chunks() const;
  const Item& item(VarId var) const { return items_[static_cast<std::size_t>(var)]; }

  const Schema& schema_;
  ChunkIndex index_;
  Offset file_size_;
  ReadInto read_;
  data_files::Opened* files_;
  std::vector<Item> items_;
};

}  // namespace forebay
