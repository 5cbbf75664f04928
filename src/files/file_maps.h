// Decomposed variables of a file as one process reads them, without MPI: values, and what there is
// to know of maps. Layout decomposed; docs/formats.md has the grammar.
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
#include "layout/decomposed/reader.h"
#include "layout/decomposed/replay.h"
#include "layout/decomposed/state_file.h"

namespace forebay {

/// The data files as a whole.
struct MapFacts {
  std::uint32_t files = 0;
  std::uint64_t epoch = 0;
  bool synced = false;
  Count maps = 0, patterns = 0, slabs = 0;
  Count slab_bytes = 0;      ///< of values
  Count stored_bytes = 0;    ///< that these take
  Count metadata_bytes = 0;  ///< sections and inverse maps that are in use
};

/// What is stored of one variable.
struct SlabFacts {
  Count slabs = 0, parts = 0;
  Count raw_parts = 0;  ///< that a codec did not make smaller
  Count bytes = 0;      ///< of values
  Count stored_bytes = 0;
};

struct MapsCheck {
  /// What is wrong with data files, a sentence each.
  std::vector<std::string> problems;
  /// Of data files that are whole, but for parts; bytes of values.
  Count files = 0, maps = 0, patterns = 0, slabs = 0, bytes = 0;
  struct Parts {
    Count verified = 0, damaged = 0, bytes = 0;  ///< as stored; damaged ones are among them
    std::string problem;                         ///< of the first damaged one
  };
  std::vector<Parts> parts;  ///< of each variable's slabs
};

/// Several threads may use one; they read one after another.
class FileMaps {
 public:
  /// Reads the state beside the file; `schema` outlives the reader, and its number of records is
  /// set. What is wrong with the state is kept, and told when a value is asked for.
  FileMaps(Schema& schema, std::string path, std::uint64_t id, decomposed::OpenState state);

  /// As ClassicFile::read, for a checked selection that is not empty.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads) const;

  /// What copies decomposed variables slab by slab (layout/decomposed/replay.h), with about so
  /// many bytes. For one thread; outlived by the reader.
  class Slabs {
   public:
    Slabs(const FileMaps& maps, Count most_bytes)
        : maps_(maps), replay_(maps.reader_, maps.schema_, most_bytes) {}

    /// All of a variable, or nothing if it is to be read by selections. Errc::enotnc for damage.
    std::optional<std::vector<decomposed::ReplayPart>> parts_of(VarId var);
    /// As Replay has them, of the data file of a part.
    Count elements_of(const decomposed::ReplayPart& part);
    std::vector<Count> places_of(const decomposed::ReplayPart& part);
    std::optional<Offset> plain_place(const decomposed::ReplayPart& part);
    std::vector<std::byte> slab_bytes(const decomposed::ReplayPart& part);
    /// Reads the values of a part, native, into `out`, and tells which elements they are.
    Runs read(const decomposed::ReplayPart& part, std::byte* out);

   private:
    const FileMaps& maps_;
    decomposed::Replay replay_;
  };

  const std::optional<Error>& damage() const { return damage_; }
  /// Errc::enotnc, or the system's, for a data file that cannot be read.
  MapFacts facts() const;
  /// The same of each variable.
  std::vector<SlabFacts> slab_facts() const;
  /// All patterns are read, and what there are checksums of, without a codec; `decode`: with it.
  /// `progress` hears of stored bytes, as it goes on.
  MapsCheck check(bool decode, const std::function<void(Count)>& progress) const;
  /// A slot of the state is damaged; it may have been the newest.
  bool has_damaged_slot() const { return damaged_slot_; }
  /// No later commit was there when the file was opened, nor may a damaged slot have been one.
  bool is_newest() const { return is_newest_; }
  /// A commit was made since the file was opened, or the state cannot be read any more.
  bool changed() const;

 private:
  bool read_part(const Variable& var, VarId id, const Subarray& selection, Type type,
                 std::byte* out) const;

  const Schema& schema_;
  std::string path_;
  std::uint64_t id_;
  decomposed::OpenState which_;
  std::optional<Error> damage_;
  decomposed::State newest_;  // when it was opened
  bool damaged_slot_ = false, is_newest_ = false;
  mutable std::mutex reading_;
  mutable Report report_;
  mutable decomposed::Selector selector_;
  mutable decomposed::Reader reader_;
};

}  // namespace forebay
