// Decomposed variables of a file, read by one process without MPI: values, and facts about maps.
// Layout decomposed; docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "array/type.h"
#include "base/error.h"
#include "base/report.h"
#include "decomposed/decomposed_reader.h"
#include "decomposed/replay.h"
#include "decomposed/state_file.h"

namespace forebay {

/// All data files together.
struct MapFacts {
  std::uint32_t files = 0;
  std::uint64_t epoch = 0;
  bool synced = false;
  Count maps = 0, patterns = 0, slabs = 0;
  Count slab_bytes = 0;      ///< of values
  Count stored_bytes = 0;    ///< of the stored slabs
  Count metadata_bytes = 0;  ///< of current sections and inverse maps
};

/// The slabs of one variable.
struct SlabFacts {
  Count slabs = 0, parts = 0;
  Count raw_parts = 0;  ///< not compressed
  Count bytes = 0;      ///< of values
  Count stored_bytes = 0;
};

struct MapsCheck {
  /// The faults of data files, one sentence each.
  std::vector<std::string> problems;
  /// Undamaged data files, whatever their parts; bytes of values.
  Count files = 0, maps = 0, patterns = 0, slabs = 0, bytes = 0;
  struct Parts {
    Count verified = 0, damaged = 0, bytes = 0;  ///< as stored; `verified` includes damaged ones
    std::string problem;                         ///< of the first damaged part
  };
  std::vector<Parts> parts;  ///< by variable
};

/// Several threads may use one. Their reads do not overlap in time.
class FileMaps {
 public:
  /// Reads the state beside the file. `schema` must outlive the reader; its number of records is
  /// set. A fault of the state is kept, and thrown when values are read.
  FileMaps(Schema& schema, std::string path, std::uint64_t id, decomposed::OpenState state);

  /// Like ClassicFile::read, for a checked selection that is not empty.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads) const;

  /// Copies decomposed variables slab by slab (decomposed/replay.h), with about `most_bytes`
  /// of memory. For one thread. The FileMaps must outlive it.
  class Slabs {
   public:
    Slabs(const FileMaps& maps, Count most_bytes)
        : maps_(maps), replay_(maps.reader_, maps.schema_, most_bytes) {}

    /// Returns the parts of a variable; nothing if it must be read by selections. Errc::enotnc for
    /// damage.
    std::optional<std::vector<decomposed::ReplayPart>> parts_of(VarId var);
    /// Like Replay's functions.
    Count elements_of(const decomposed::ReplayPart& part);
    std::vector<Count> places_of(const decomposed::ReplayPart& part);
    std::optional<Offset> plain_place(const decomposed::ReplayPart& part);
    std::vector<std::byte> slab_bytes(const decomposed::ReplayPart& part);
    /// Reads the values of a part, native, into `out`. Returns which elements they are.
    Runs read(const decomposed::ReplayPart& part, std::byte* out);

   private:
    const FileMaps& maps_;
    decomposed::Replay replay_;
  };

  const std::optional<Error>& damage() const { return damage_; }
  /// Errc::enotnc, or the system's error, for an unreadable data file.
  MapFacts facts() const;
  /// Returns the facts of each variable. Errors as above.
  std::vector<SlabFacts> slab_facts() const;
  /// Reads all patterns, and verifies all checksums, without a codec. With `decode` it also
  /// decodes. `progress` receives the stored bytes done so far.
  MapsCheck check(bool decode, const std::function<void(Count)>& progress) const;
  /// Returns whether a slot of the state is damaged. It may have been the newest.
  bool has_damaged_slot() const { return damaged_slot_; }
  /// Returns whether no later commit existed when the file was opened, nor could a damaged slot
  /// have been one.
  bool is_newest() const { return is_newest_; }
  /// Returns whether a commit was made since opening, or the state has become unreadable.
  bool changed() const;

 private:
  bool read_part(const Variable& var, VarId id, const Subarray& selection, Type type,
                 std::byte* out) const;

  const Schema& schema_;
  std::string path_;
  std::uint64_t id_;
  decomposed::OpenState which_;
  std::optional<Error> damage_;
  decomposed::State newest_;  // at the time of opening
  bool damaged_slot_ = false, is_newest_ = false;
  mutable std::mutex reading_;
  mutable Report report_;
  mutable decomposed::Selector selector_;
  mutable decomposed::Reader reader_;
};

}  // namespace forebay
