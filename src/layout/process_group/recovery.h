// A BP4 directory whose index was not finished, or is lost (A §III.D.1): whole steps that md.idx
// does not tell of get their records, from md.0 where that has them, from the process groups
// otherwise.
//
//     md.idx, as far as each step is in md.0, and its values in data.K     kept
//     steps behind that in md.0, with all their blocks                     get records
//     steps of which all groups are in data.K                              get an index, and
//     records
//
// A BP3 file that does not end with its footer, or has whole steps beyond it, gets a new one behind
// all that is there, made from its process groups (of other programs none).
//
// Data files of BP4 are never written to. New index files are made beside the old ones, reach the
// device, and take their names, md.0 first: whatever kills it, it can be run again. The old ones
// stay as md.idx.old and md.0.old; those of an earlier recovery are not replaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"

namespace forebay::process_group {

struct BpRecoveryOptions {
  bool look_only = false;     ///< change nothing
  bool skip_damaged = false;  ///< also where fewer steps are left than the index tells of
};

struct BpRecovery {
  std::uint64_t before = 0;                   ///< steps that md.idx, or the footer, told of
  std::uint64_t steps = 0;                    ///< that are whole; what it tells of when all is done
  std::uint64_t by_index = 0, by_groups = 0;  ///< of these, what md.0, or the groups, added
  bool needed = false;                        ///< the index was not as it should be
  bool changed = false;                       ///< and now is
  /// There is more in data files, and no index that tells whether that were steps.
  bool unsure = false;
  std::vector<std::string> notes;  ///< sentences
  std::vector<std::string> kept;   ///< files that were there before
  /// Steps that md.idx tells of and that are not whole.
  std::uint64_t lost() const { return before > steps ? before - steps : 0; }
};

/// Local. Whether `path` is a folder with files of BP4 in it, whatever is left of them, or a file
/// of BP3.
bool has_bp_files(const std::string& path);

/// Local, while nobody writes the file: a step under way would get a record. Steps of adios2 are
/// found in md.0 alone, as its groups do not say how many belong together. Where lost() is not 0
/// nothing is changed without skip_damaged. Errc::enotsupport: BP5, or a file of the other byte
/// order. Takes memory for the index of one step, and 40 bytes for each group.
BpRecovery recover_index(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                         Report& report);

}  // namespace forebay::process_group
