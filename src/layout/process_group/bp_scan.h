// Looking through the index of a BP file: one rank does, and tells the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "format/bp.h"

namespace forebay::process_group {

/// Local. Goes through md.idx and md.0 of a directory. What did not reach its files in whole, as
/// the machine went down, is no step, nor what follows it. Errc::ebad_file, enotsupport, or as the
/// system's, naming file and step. Returns what take_told() takes.
std::vector<std::byte> scan_directory(const std::string& path, Rank rank, Report& report);

/// Local. Calls f for each record of md.idx that tells of a step, up to `index_end`, damaged or
/// not; `taken`: scan_directory() takes it, as it does all before it, where md.0 has so many bytes.
void each_record(ByteFile& index, Offset index_end, Offset metadata_bytes, bool swapped,
                 const std::function<void(const bp::StepRecord&, bool taken)>& f);

/// Local. How many records of md.idx tell of steps, beyond the first `steps` that are read: their
/// index is not in md.0, or follows one that is not.
std::uint64_t steps_without_index(const std::string& path, std::uint64_t steps, Rank rank,
                                  Report& report);

/// Local. The same of a file of BP3, by its footer. Holds some 60 bytes for each variable and step.
/// Statistics of ADIOS 1 about itself (__adios__) are passed over.
std::vector<std::byte> scan_file(const std::string& path, Rank rank, Report& report);

/// Local. Whether a file ends as those of BP3 do, and does not begin as those of netCDF or HDF5; or
/// begins as those of this library.
bool is_bp_file(const std::string& path);

}  // namespace forebay::process_group
