// Examines existing files where a BP file will be made: whether they may be replaced, and which of
// them are removed. Also reads a BP4 directory to which steps are appended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/name_catalogue.h"
#include "storage/file.h"

namespace forebay::process_group {

/// Returns whether a folder has an index of BP4 with at least its head.
bool has_index(const std::string& path);
/// Throws Errc::eexist if a BP3 file cannot be made at `path`. It may replace an empty file, a BP3
/// file, or one that a kill left incomplete.
void check_replaced_file(const std::string& path);
/// Throws Errc::eexist if there is a file instead of a directory.
void check_no_file(const std::string& path);
/// Returns all files of a folder that another BP4 directory may replace. A folder without an index
/// may be replaced if all its files look like those of a killed writer; otherwise throws
/// Errc::eexist.
std::vector<std::filesystem::path> replaced_files(const std::string& path);

struct OldDirectory {
  std::uint64_t steps = 0;    ///< the number of the last one
  std::uint64_t opening = 0;  ///< of the last step; 0: unknown
  Offset metadata_end = bp::head_bytes, index_end = bp::head_bytes;
  std::vector<Name> names;
  Places whole_ends;  ///< ends of the blocks of whole steps, by data file
};

/// Local, on one rank. Reads the contents of the directory; `index` is its md.idx. Errc::ebad_file:
/// arrays of this order cannot be appended to it.
OldDirectory read_old_directory(const std::string& path, File& index, bool column_major,
                                Report& report);
/// Local. Throws Errc::ebad_file if a directory without an index has steps: continuing would remove
/// them.
void refuse_lost_index(const std::string& path, Rank rank, Report& report);

}  // namespace forebay::process_group
