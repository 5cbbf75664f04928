// Rebuilds the index of a BP4 directory that is incomplete or lost (Lofstead et al. 2009,
// §III.D.1). Whole steps that md.idx lacks get their records: from md.0 if it has their index,
// otherwise from the process groups.
//
//     md.idx, as long as each step is in md.0, and its values in data.K    kept
//     later steps in md.0, with all their blocks                           get records
//     steps with all groups in data.K                                      get index and records
//
// A BP3 file that does not end with its footer, or has whole steps behind it, gets a new index and
// footer behind all its bytes, made from its process groups (not if another program wrote it).
//
// Data files of BP4 are never written to. New index files are written beside the old ones, synced
// to the device, and renamed, md.0 first. So recovery can be repeated after a kill at any instant.
// The old ones stay as md.idx.old and md.0.old; those of an earlier recovery are not replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"

namespace forebay::process_group {

struct BpRecoveryOptions {
  bool look_only = false;     ///< change nothing
  bool skip_damaged = false;  ///< change the index even if steps are lost
};

struct BpRecovery {
  std::uint64_t before = 0;                   ///< steps in md.idx, or by the footer
  std::uint64_t steps = 0;                    ///< whole steps; those of the new index
  std::uint64_t by_index = 0, by_groups = 0;  ///< whole steps added from md.0, or from groups
  bool needed = false;                        ///< the index was wrong
  bool changed = false;                       ///< and was corrected
  /// Data files have more bytes, and no index says whether these were steps.
  bool unsure = false;
  std::vector<std::string> notes;  ///< sentences
  std::vector<std::string> kept;   ///< old files that stay
  /// Returns the number of steps in md.idx that are not whole.
  std::uint64_t lost() const { return before > steps ? before - steps : 0; }
};

/// Local. Returns whether `path` is a folder with some files of BP4, or a file of BP3.
bool has_bp_files(const std::string& path);

/// Local. Nobody may write the file at the same time, as an unfinished step would get a record.
/// Steps of adios2 are only found in md.0, since its groups do not say how many make a step. If
/// lost() is not 0, nothing is changed without skip_damaged. Errc::enotsupport: BP5, or a file of
/// the other byte order. Takes memory for the index of one step, and 40 bytes for each group.
BpRecovery recover_index(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                         Report& report);

}  // namespace forebay::process_group
