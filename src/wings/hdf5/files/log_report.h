// The facts of `info` and `check` about the log in an HDF5 file. Not available without HDF5.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/log/logged_survey.h"

namespace forebay {

struct Hdf5LogFacts {
  LogStatistics statistics;
  Count index_bytes = 0;     ///< 0: none, or damaged
  std::string index_damage;  ///< why the index is not used
};

/// Returns nothing for a file without a log. Reads the index, and all metadata that it does not
/// cover. Errc::ebadlog, and what opening throws.
std::optional<Hdf5LogFacts> hdf5_log_facts(const std::string& path);

struct Hdf5LogCheck {
  LogCheck check;
  Count all_bytes = 0;              ///< of all data
  std::vector<std::string> faults;  ///< sentences that begin with a dataset's path, or "log"
};

/// Returns nothing for a file without a log. Verifies every checksum in it. Damage is returned, not
/// thrown. `progress` receives bytes done and their total.
std::optional<Hdf5LogCheck> check_hdf5_log(const std::string& path,
                                           const std::function<void(Count, Count)>& progress);

}  // namespace forebay
