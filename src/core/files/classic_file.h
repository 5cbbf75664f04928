// Reads classic netCDF files in one process without MPI. For tools and Python. Variables that are
// not in the classic layout are read by the readers that their layouts have
// (layout/classic_part.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "array/type.h"
#include "base/descriptor.h"
#include "base/types.h"
#include "layout/chunked/file_chunks.h"
#include "layout/variable_reader.h"
#include "storage/file_stamp.h"

namespace forebay {

/// An open file and its schema. Not copyable. The destructor closes the file. Reading is const and
/// keeps no state, so several threads may read at once.
class ClassicFile {
 public:
  /// Opens `path`, a file or a directory that is read like one, and reads its header in growing
  /// pieces. Each message begins with the path. Errors: Errc::enoent, eaccess… from the system,
  /// Errc::enotnc3 for HDF5 (netCDF-4) files, Errc::enotnc for a damaged file or any other format,
  /// and those of classic::parse. The index of chunked variables is read too; if it is damaged,
  /// only reading such a variable fails. `state` says which state of chunked and decomposed
  /// variables is read (docs/chunked.md). Without it, the key `chunk_state` counts, whatever other
  /// keys say; the newest state if its value makes no sense.
  explicit ClassicFile(const std::string& path);
  ClassicFile(const std::string& path, store::OpenState state);
  ClassicFile(const ClassicFile&) = delete;
  ClassicFile& operator=(const ClassicFile&) = delete;

  /// The schema that users see: chunked variables have their dimensions, and anchors are hidden.
  const Schema& schema() const { return schema_; }
  /// Facts about chunks; null if no variable is chunked.
  const FileChunks* chunks() const { return chunks_; }
  /// Facts about maps and decomposed variables; null if there are none.
  const SlabReader* maps() const { return maps_; }
  /// Returns why a variable cannot be read at all: its layout has no reader for one process, or
  /// this build lacks it. Null: it can.
  const Error* refused(VarId var) const;
  /// Returns how many records only the header knows (docs/decomposed.md).
  Count added_records() const { return added_records_; }
  const std::string& path() const { return path_; }
  Offset file_size() const { return file_size_; }
  /// Returns whether the file was written, or replaced under its name, since it was opened. Then
  /// values may belong to two states. A file that was removed counts as unchanged. Two system
  /// calls; as precise as the file system's time stamps.
  bool changed() const;

  /// Returns the shape of a variable, with the present number of records; with `level`, at a
  /// coarser level if the variable has it.
  std::vector<Count> shape(VarId var, int level = 0) const;
  /// Returns whether the values of a variable lie in the file as the classic format says.
  bool is_plain(VarId var) const;
  /// Returns the number of coarser levels of a variable: 0 unless its chunks have levels.
  int levels(VarId var) const;
  /// Returns how far each level of a variable is from the written values, according to its chunks.
  /// Reads a part of each chunk. Zero for variables without levels. Errors are those of read().
  std::vector<LevelErrors> level_errors(VarId var) const;

  /// Reads the selected elements, row-major, as native values of `type`, into `out`, which has room
  /// for all. Returns true if a value did not fit `type`; its place holds that type's default fill
  /// value. Errors: Errc::enotvar, einvalcoords, eedge, estride for selections outside the
  /// variable; Errc::echar between text and numbers; Errc::etrunc if the file ends before the last
  /// selected element; Errc::enotbuilt for a layout without a reader; for chunked variables
  /// Errc::enotnc, with the chunk's name, for a damaged chunk or index, and Errc::enotsupport for a
  /// codec that this build lacks. Memory beside `out`: 8 MiB or one chunk on each of up to
  /// `threads` threads, the caller's among them. Small reads use fewer threads. Neighbouring
  /// elements are read together. Values that need no conversion are read directly into `out`.
  /// `level`: the selection is in that level of the variable; Errc::einval if it has none.
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads = 1,
            int level = 0) const;

  /// From now on elements of plain variables beyond the end of the file read as zero bytes, as in
  /// netCDF-C, even if the file was truncated (ends_within_values). Readers of layouts
  /// (VariableReader) never learn of it. Call it before the first read. Returns how many bytes are
  /// missing.
  Count zero_beyond_end();

  /// Reads bytes of the file. Errc::etrunc past its end.
  void read_raw(Offset offset, std::span<std::byte> out) const;

  /// Reads the whole selection as doubles.
  std::vector<double> read_doubles(VarId var, const Subarray& selection) const;

 private:
  void open_readers(store::OpenState state);
  /// Returns null for a variable in the classic layout.
  const VariableReader* reader_of(const Variable& var) const;
  void check(VarId var, const Subarray& selection, Type type, int level) const;
  bool read_plain(VarId var, const Subarray& selection, Type type, void* out, int threads) const;

  std::string path_;
  Descriptor file_;
  Offset file_size_ = 0;
  FileStamp stamp_;  // at the time of opening
  Count added_records_ = 0;
  bool zero_beyond_end_ = false;
  Schema schema_;
  std::vector<std::unique_ptr<const VariableReader>> readers_;
  const FileChunks* chunks_ = nullptr;
  const SlabReader* maps_ = nullptr;
  std::map<VarId, Error> refused_;
};

/// Returns one past the last byte of a variable's data in a file of schema.numrecs records; its
/// begin if it has no data. For a chunked variable, whose chunks may be anywhere, it is the
/// anchor's end.
Offset end_of(const Schema& schema, const Variable& var);

/// Returns whether a file of that size was truncated. It was not if whole variables at its end, or
/// their parts of the last record, are missing: these were never written, and read as zeros.
/// Padding after the last value does not count.
bool ends_within_values(const Schema& schema, Offset size);

/// Returns whether `path` is a classic netCDF file, or a directory that is read like one, with
/// variables of a layout that other readers do not know (ClassicPartEntry::is_in), or with anchors
/// of a layout that this build lacks. Others see anchors as scalars. Reads the header only. Returns
/// false for everything else, also for unreadable files.
bool shows_anchors(const std::string& path);

/// A file that a reader of a region needs.
struct NeededFile {
  std::string path;
  /// Of a data file: the elements of the variable around all that it has of it.
  std::optional<Subarray> box;
};
/// Returns the files that a reader of a region of a variable needs: the file itself, and where its
/// chunks lie in data files, their index and those of them whose boxes meet the region
/// (layout/chunked/region_files.h). Errc::enotvar, and errors of the file and of the selection.
/// Counts what it reads beside the header in `report`.
std::vector<NeededFile> files_of_region(const std::string& path, const std::string& variable,
                                        const Subarray& region, Report& report);

}  // namespace forebay
