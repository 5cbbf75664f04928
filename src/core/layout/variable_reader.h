// Readers of the variables of one layout in one process, where no rank waits for another: for tools
// and Python (files/classic_file.h). A layout has its reader in its entry (layout/classic_part.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "array/type.h"
#include "base/error.h"
#include "base/extent.h"
#include "base/types.h"
#include "store/slots.h"

namespace forebay {

class FileChunks;
class SlabReader;

/// What a reader shares with the file that it belongs to. `path` and `schema` outlive the reader.
struct ReaderSite {
  const std::string& path;  ///< of the classic file
  Offset file_size = 0;
  /// Reads bytes of the file; several threads may call it. Errc::etrunc for bytes beyond file_size:
  /// the reader itself gives zeros for values that were never written.
  ReadInto read;
  Schema& schema;
  store::OpenState state = store::OpenState::newest;  ///< that is read
};

/// Several threads may use one.
class VariableReader {
 public:
  virtual ~VariableReader() = default;
  virtual bool keeps(const Variable& var) const = 0;
  /// Like ClassicFile::read, for a checked selection that is not empty. Errors do not name the
  /// file.
  virtual bool read(VarId var, const Subarray& selection, Type type, void* out, int threads,
                    int level) const = 0;
  /// Returns the number of a variable's coarser levels.
  virtual int levels(VarId /*var*/) const { return 0; }
  /// Returns whether the state that is read was the newest one when the file was opened, and no
  /// damaged state may have been newer.
  virtual bool is_newest() const = 0;
  /// Returns whether files beside the classic one were written since they were opened.
  virtual bool changed() const = 0;
  /// Return this if it reads chunks, or slabs.
  virtual const FileChunks* chunks() const { return nullptr; }
  virtual const SlabReader* slabs() const { return nullptr; }
};

/// All slabs of a file, and the decomposition maps by which they lie.
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

/// A part of a slab, or of what no slab has of a record.
struct SlabPart {
  VarId var = 0;
  Count record = 0;
  std::uint32_t stretch = 0;
  std::uint32_t file = 0;  ///< of the slab; no_file: fill values
  std::uint32_t map = 0;   ///< of the slab
  Offset offset = 0;       ///< of the slab
  std::uint64_t epoch = 0;
  Count elements = 0;

  static constexpr std::uint32_t no_file = UINT32_MAX;
};

/// Copies variables slab by slab, in the order in which they lie in files. For one thread.
class SlabReplay {
 public:
  virtual ~SlabReplay() = default;
  /// Returns all parts of a variable; nothing if it must be read by selections. Errc::enotnc for
  /// damage.
  virtual std::optional<std::vector<SlabPart>> parts_of(VarId var) = 0;
  /// Return how many elements the slabs of a part's map have, and the place of each in a record.
  virtual Count elements_of(const SlabPart& part) = 0;
  virtual std::vector<Count> places_of(const SlabPart& part) = 0;
  /// Returns where the values of a part's slab lie contiguously and unencoded; nothing if they do
  /// not.
  virtual std::optional<Offset> plain_place(const SlabPart& part) = 0;
  /// Returns those values, in the order and byte order of the file.
  virtual std::vector<std::byte> slab_bytes(const SlabPart& part) = 0;
  /// Reads the values of a part, native and in the order of the array, into `out`. Returns which
  /// elements they are.
  virtual Runs read(const SlabPart& part, std::byte* out) = 0;
};

/// A reader of values that lie in slabs in data files (layout decomposed).
class SlabReader : public VariableReader {
 public:
  const SlabReader* slabs() const override { return this; }
  /// `most_bytes` is about the memory that it takes. The reader must outlive the result.
  virtual std::unique_ptr<SlabReplay> replay(Count most_bytes) const = 0;
  /// Returns why no value can be read.
  virtual const std::optional<Error>& damage() const = 0;
  /// Errc::enotnc, or the system's error, for an unreadable data file.
  virtual MapFacts facts() const = 0;
  /// Returns the facts of each variable. Errors as above.
  virtual std::vector<SlabFacts> slab_facts() const = 0;
  /// Reads all patterns, and verifies all checksums, without a codec. With `decode` it also
  /// decodes. `progress` receives the stored bytes done so far.
  virtual MapsCheck check(bool decode, const std::function<void(Count)>& progress) const = 0;
  /// Returns whether a slot of the state is damaged. It may have been the newest.
  virtual bool has_damaged_slot() const = 0;
};

}  // namespace forebay
