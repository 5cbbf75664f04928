// Reads classic netCDF files, with chunked variables or without, on one process and without MPI:
// for tools and for Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/coarse_schema.h"
#include "array/schema.h"
#include "array/selection.h"
#include "array/type.h"
#include "base/descriptor.h"
#include "base/types.h"
#include "files/file_chunks.h"
#include "files/file_maps.h"

struct stat;

namespace forebay {

/// An open file and its schema. Not copyable; closes the file when it goes. Reading is const and
/// keeps no state, so that several threads may read at once.
class ClassicFile {
 public:
  /// Opens `path`, a file or a directory that is taken as one, and reads its header, in growing
  /// pieces. Throws Errc::enoent, eaccess… for the system's refusals, Errc::enotnc3 for HDF5
  /// (netCDF-4) files, Errc::enotnc for anything else that is no classic netCDF file or a damaged
  /// one, and what else classic::parse throws; each message begins with the path. Of a file with
  /// chunked variables the chunk index is read too; a damaged one is no error until a chunked
  /// variable is read. `state` says which state of chunked and decomposed variables is read
  /// (docs/chunked.md); without it, what the key `chunk_state` says for this file, whatever
  /// else programs are told; the newest where that makes no sense.
  explicit ClassicFile(const std::string& path);
  ClassicFile(const std::string& path, chunked::OpenState state);
  ~ClassicFile();
  ClassicFile(const ClassicFile&) = delete;
  ClassicFile& operator=(const ClassicFile&) = delete;

  /// What users see: chunked variables with their dimensions, not their anchors.
  const Schema& schema() const { return schema_; }
  /// What there is to know of chunks; null if no variable is chunked.
  const FileChunks* chunks() const { return chunks_.get(); }
  /// The same of maps, and decomposed variables.
  const FileMaps* maps() const { return maps_.get(); }
  /// How many of the records only the header tells of (docs/decomposed.md).
  Count added_records() const { return added_records_; }
  const std::string& path() const { return path_; }
  Offset file_size() const { return file_size_; }
  /// Whether the file was written to, or replaced under its name, since it was opened: what is read
  /// may belong to two states of it then. One that lost its name is still as it was. Two system
  /// calls; within the resolution of the file system's time stamps.
  bool changed() const;

  /// The shape of a variable with the record dimension at its present length; at a coarser level,
  /// where it has that.
  std::vector<Count> shape(VarId var, int level = 0) const;
  /// How many coarser levels a variable has: 0, but for those in patches.
  int levels(VarId var) const;
  /// The whole file at a level. Errc::einval for one that no variable has.
  CoarseSchema coarse(int level) const;
  /// How far each level of a variable is from what was written, by what its patches say. Reads a
  /// part of each. Zero for variables in no patches. Errors as read().
  std::vector<LevelErrors> level_errors(VarId var) const;

  /// Reads the selected elements, row-major, as native values of `type` into `out`, which has room
  /// for all of them. Returns true if a value did not fit `type` (its place holds that type's
  /// default fill value). Throws Errc::enotvar, einvalcoords, eedge, estride for selections outside
  /// the variable, Errc::echar between text and numbers, Errc::etrunc if the file ends before the
  /// last selected element. Chunked variables: Errc::enotnc naming the chunk for a damaged one (or
  /// the index), Errc::enotsupport for a codec that this build lacks. Holds at most 8 MiB besides
  /// `out`, or one chunk, on each of up to `threads` threads (the caller's among them; small reads
  /// use fewer); neighbouring elements are read together, and what needs no conversion is read
  /// straight into `out`.
  /// `level`: the selection is one of that level of the variable, Errc::einval where it has none.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads = 1,
            int level = 0) const;

  /// From now on elements of plain variables that lie beyond the end of the file are zero bytes, as
  /// netCDF-C reads them: PnetCDF leaves a file short whose last variables were never written.
  /// Returns how many bytes are missing. Before the first read.
  Count zero_beyond_end();

  /// Bytes of the file as they are. Errc::etrunc past its end.
  void read_raw(Offset offset, std::span<std::byte> out) const;

  /// The whole selection as doubles.
  std::vector<double> read_doubles(VarId var, const Subarray& selection) const;

 private:
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    Offset size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const struct stat& status);
  static Stamp stamp_at(const std::string& path);
  void open_chunks(chunked::OpenState state);
  void check(VarId var, const Subarray& selection, Type type, int level) const;
  bool read_plain(VarId var, const Subarray& selection, Type type, void* out, int threads) const;

  std::string path_;
  Descriptor file_;
  Offset file_size_ = 0;
  Stamp stamp_;  // as it was opened
  Count added_records_ = 0;
  bool zero_beyond_end_ = false;
  Schema schema_;
  /// What lies beside a file whose chunks are in data files.
  struct Beside;
  std::unique_ptr<Beside> beside_;
  std::unique_ptr<const FileChunks> chunks_;
  std::unique_ptr<const FileMaps> maps_;
};

/// One past the last byte of a variable's data in a file of schema.numrecs records; its begin if it
/// has none. Of a chunked variable, whose chunks may be anywhere: of its anchor.
Offset end_of(const Schema& schema, const Variable& var);

/// Whether `path` is a classic netCDF file, or a directory that is taken as one, with chunked or
/// decomposed variables, which other readers see as scalars. Reads the header only; false for
/// everything else, also for what cannot be read.
bool shows_anchors(const std::string& path);

}  // namespace forebay
