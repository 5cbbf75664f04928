// Parses the index of a BP file. One rank does this, and broadcasts the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "groups/format/bp.h"

namespace forebay::process_group {

/// Parses md.idx and md.0 of a directory. Steps that did not reach their files completely, because
/// the machine failed, are no steps, and neither are later ones. All functions are local. Errors:
/// Errc::ebad_file, enotsupport or system errors, with file and step.
class DirectoryScan {
 public:
  DirectoryScan(const std::string& path, Rank rank, Report& report);
  ~DirectoryScan();

  /// Returns the bytes for receive_index(). Call it first, and once. No file stays open.
  std::vector<std::byte> run();

  // For a reader that follows a file while it is written. The files stay open.

  /// Returns the bytes for receive_more() if there are steps that were not told before, else
  /// nothing. `folder` is where the directory is by now. After an error every further call throws
  /// the same one.
  std::optional<std::vector<std::byte>> more(const std::string& folder);
  /// Returns whether the program that writes has the file open, or was killed. Then another step
  /// may come. If not, more() has all steps that were there before this call.
  bool is_being_written(const std::string& folder);
  /// Returns false once the directory, or its index, was made anew. Call is_being_written() before.
  bool is_current();

 private:
  class Scan;
  std::unique_ptr<Scan> scan_;
};

/// Local. Calls f for each record of md.idx that describes a step, up to `index_end`, damaged or
/// not. `taken`: scan_directory() takes this record and all before it if md.0 has `metadata_bytes`
/// bytes.
void each_record(ByteFile& index, Offset index_end, Offset metadata_bytes, bool swapped,
                 const std::function<void(const bp::StepRecord&, bool taken)>& f);

/// Local. Returns how many records of md.idx describe steps behind the first `steps`, which are
/// read. Their index is not in md.0, or follows one that is not.
std::uint64_t steps_without_index(const std::string& path, std::uint64_t steps, Rank rank,
                                  Report& report);

/// Local. Like scan_directory(), for a file of BP3, by its footer. Holds about 60 bytes for each
/// variable and step. Skips the statistics of ADIOS 1 about itself (__adios__).
std::vector<std::byte> scan_file(const std::string& path, Rank rank, Report& report);

/// Local. Returns whether a file ends with a footer of BP3 and does not begin like netCDF or HDF5,
/// or begins like a BP3 file of this library.
bool is_bp_file(const std::string& path);

}  // namespace forebay::process_group
