// Copies a file into another format or layout. Names, dimensions, attributes, values and records
// stay the same.
//
//     source  → pieces of at most a few MiB, whole chunks of the output → output
//
// Decomposed variables go to netCDF by slabs (Hou 2023, §6.4.2), unless these overlap: they are
// read in file order and written by the runs of their maps.
//
// The pieces are distributed over the ranks in rounds. Each round is one collective write. The
// output is written beside its final name, synced to the device, and renamed at the end.
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
  std::string to = "netcdf";   ///< netcdf | netcdf4 | hdf5 | zarr | bp
  bool keep_layout = true;     ///< netcdf: chunked variables stay chunked if `keys` do not say
  HintMap keys;                ///< of the method, checked; settings outside the program win
  Method method = {};          ///< of the output; convert() chooses it
  std::optional<int> version;  ///< of the classic formats: 1, 2, 5
  std::string group;           ///< reads only this group of a netCDF-4 input; "/" is the root
  int level = 0;               ///< write the file at this level
  bool levels = false;         ///< zarr: every level, as a group
  bool skip = false;           ///< leave out what the output cannot express
  bool verify = false;         ///< read the output again and compare
  bool force = false;          ///< replace an existing output
  bool quiet = false;          ///< no progress
  /// Bytes that a rank holds at once, but at least one piece. 0: half of buffer_limit.
  Count round_bytes = 32 << 20;
  double timeout = 60;  ///< following: seconds to wait for the input, and for each step
};

struct ConvertResult {
  Count variables = 0, bytes = 0;   ///< of values
  Count in_size = 0, out_size = 0;  ///< bytes on disk; 0 if unknown
  Count verified = 0;               ///< variables whose values were read again and found equal
  Count by_slabs = 0;               ///< decomposed variables copied slab by slab
  Count rounds = 0;                 ///< collective writes
  std::vector<LeftOut> left_out;    ///< what the output cannot express
  std::vector<std::string> lossy;   ///< variables whose codec may change values
  std::vector<std::string> notes;   ///< keys of the method that were overruled or not used
  double seconds = 0;
};

/// A part of a variable during the copy: native values in the order of its selection.
struct Piece {
  VarId var = 0;
  std::variant<Subarray, Runs> selection;  ///< runs: only for netcdf, within one record
  Count last_record = 0;                   ///< with runs: one past their record
  std::span<std::byte> data;

  const Subarray& box() const { return std::get<Subarray>(selection); }
};

/// A file that is being written. Variables have the ids of the source.
class Output {
 public:
  virtual ~Output() = default;
  /// Returns the variable as it will be stored. Pieces should consist of its whole chunks.
  virtual const Variable& variable(VarId var) const = 0;
  /// Returns false if the codec may change values.
  virtual bool exact(VarId var) const = 0;
  /// Collective. `failed` means that this rank could not read its pieces; then every rank throws.
  /// `last` means that no more pieces follow (of this record, if steps() is not 0). Their data must
  /// stay until end_step() or close().
  virtual void write(std::span<Piece> pieces, const std::optional<Error>& failed, bool last) = 0;
  /// Returns 0 if pieces may come in any order. Otherwise so many records are written one after
  /// another, and fixed variables with the first one.
  virtual Count steps() const { return 0; }
  /// Collective. Ends a record after its last piece, if steps() is not 0.
  virtual void end_step() {}
  /// Collective. Writes everything to the device. Only the destructor may follow.
  virtual void close() = 0;
};

/// Collective. Creates a netCDF file of the method's container, chunked as the method says. Equal
/// arguments on all ranks.
std::unique_ptr<Output> create_netcdf(const Comm& comm, const Source& source,
                                      const std::string& path, const ConvertOptions& options);
/// Collective. Creates a Zarr store (version 2, consolidated) in a directory. That of all
/// levels of a file describes them for readers of OME-NGFF.
std::unique_ptr<Output> create_zarr(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options);
/// Opens what create_zarr wrote, to verify it. `source` has the schema, and must outlive it.
std::unique_ptr<Source> open_zarr(const Source& source, const std::string& path,
                                  const ConvertOptions& options);

/// Collective. Copies the input step by step while another program writes it, until that program
/// closes it. The output has each step as soon as it is copied. Errc::enotsupport: a method that
/// cannot be followed with, or a build without a format that is followed; eexist as for convert();
/// eread: there was no step for `timeout` seconds, and the output has those before. If it fails on
/// a rank, it throws on every rank.
ConvertResult follow(const Comm& comm, const ConvertOptions& options);

/// Collective. If it fails on a rank, it throws on every rank, leaves no new files, and leaves an
/// existing output unchanged. Errc::eexist for an existing output without `force`, Errc::eperm if
/// input and output are the same file, Errc::eio if verification finds other values.
ConvertResult convert(const Comm& comm, const ConvertOptions& options);

}  // namespace forebay::tools
