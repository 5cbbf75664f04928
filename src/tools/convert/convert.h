// Copies a file into another format or layout: what stays the same is names, dimensions,
// attributes, values and records.
//
//     source  → pieces of at most a few MiB, whole chunks of the output → output
//
// Decomposed variables go to netCDF by their slabs (D6 §6.4.2), read as they lie and written by the
// runs of their maps, unless slabs overlap.
//
// The pieces are shared out among ranks in rounds; each round is one collective write. The output
// is written beside its final name, reaches the device, and is renamed at the end.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "files/source.h"
#include "method/method.h"

namespace forebay::tools {

struct ConvertOptions {
  std::string in, out;
  std::string to = "netcdf";   ///< netcdf | hdf5 | zarr | bp
  bool keep_layout = true;     ///< netcdf: chunked variables stay chunked where `keys` say nothing
  HintMap keys;                ///< of the method, checked
  std::optional<int> version;  ///< of the classic formats: 1, 2, 5
  std::string group;           ///< of a netCDF-4 input: this one alone; "/" is the root
  int level = 0;               ///< write the file as it is at this level
  bool levels = false;         ///< zarr: every level, as a group
  bool skip = false;           ///< leave out what the output has no word for
  bool verify = false;         ///< read the output again and compare
  bool force = false;          ///< replace an existing output
  bool quiet = false;          ///< no progress
  Count round_bytes = 32 << 20;  ///< that a rank holds at once, but at least one piece
};

struct ConvertResult {
  Count variables = 0, bytes = 0;   ///< of values
  Count in_size = 0, out_size = 0;  ///< bytes on disk; 0 where that is unknown
  Count verified = 0;               ///< variables whose values were read again and are equal
  Count by_slabs = 0;               ///< decomposed variables that were copied slab by slab
  Count rounds = 0;                 ///< in which ranks wrote together
  std::vector<LeftOut> left_out;    ///< what the output has no word for
  std::vector<std::string> lossy;   ///< variables whose codec may change values
  double seconds = 0;
};

/// A part of a variable on its way, native, in the order of its selection.
struct Piece {
  VarId var = 0;
  std::variant<Subarray, Runs> selection;  ///< runs: for netcdf only, of one record
  Count last_record = 0;                   ///< of runs: one past it
  std::span<std::byte> data;

  const Subarray& box() const { return std::get<Subarray>(selection); }
};

/// A file being written. Variables have the ids of the source.
class Output {
 public:
  virtual ~Output() = default;
  /// The variable as it will be stored; pieces should consist of whole chunks of it.
  virtual const Variable& variable(VarId var) const = 0;
  /// Whether rank 0 writes all pieces of it.
  virtual bool by_root(VarId) const { return false; }
  /// False where the codec may change values.
  virtual bool exact(VarId var) const = 0;
  /// Collective. `failed`: this rank could not read its pieces; every rank throws then. `last`: no
  /// others follow, of this record where steps() is not 0; they stay until end_step() or close().
  virtual void write(std::span<Piece> pieces, const std::optional<Error>& failed, bool last) = 0;
  /// 0: pieces come in any order. Else records are written one after another, that many, and fixed
  /// variables with the first one.
  virtual Count steps() const { return 0; }
  /// Collective. Behind all pieces of a record, where steps() is not 0.
  virtual void end_step() {}
  /// Collective. All is on the device; no call but the destructor follows.
  virtual void close() = 0;
};

/// Collective. Creates a classic file, chunked as options.keys say; equal on all ranks.
std::unique_ptr<Output> create_netcdf(const Comm& comm, const Source& source,
                                      const std::string& path, const ConvertOptions& options);
/// Collective. A netCDF-4 file; Errc::enotsupport in a build without HDF5. Keys of the method that
/// count are layout, codec (of HDF5's own filters) and chunk_bytes. Ranks write past HDF5 what has
/// no codec; rank 0 all else.
std::unique_ptr<Output> create_hdf5(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options);
/// Collective. Copies an HDF5 file with all that is in it, types that the classic model has no
/// word for too; sets variables, bytes and verified of the result, on rank 0.
ConvertResult copy_hdf5_file(const Comm& comm, const std::string& in, const std::string& out,
                             const ConvertOptions& options);
/// Collective. A Zarr store (version 2, consolidated) in a directory. Of a Pyramid with what tells
/// OME-NGFF's readers of its levels.
std::unique_ptr<Output> create_zarr(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options);
/// Collective. A BP4 directory. Keys of the method that count are those of groups.
std::unique_ptr<Output> create_bp(const Comm& comm, const Source& source, const std::string& path,
                                  const ConvertOptions& options);
/// What create_zarr wrote, for verifying; `source` tells the schema and outlives it.
std::unique_ptr<Source> open_zarr(const Source& source, const std::string& path,
                                  const ConvertOptions& options);

/// Collective. Throws on every rank if it fails on any; then nothing is left behind, and an
/// existing output is as it was. Errc::eexist for an existing output without `force`, Errc::eperm
/// when input and output are one file, Errc::eio when verification finds other values.
ConvertResult convert(const Comm& comm, const ConvertOptions& options);

}  // namespace forebay::tools
