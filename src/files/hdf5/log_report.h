// What `info` and `check` tell of the log in an HDF5 file. In a build without HDF5 there is none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layout/logged/logged_survey.h"

namespace forebay {

struct Hdf5LogFacts {
  LogStatistics statistics;
  Count index_bytes = 0;     ///< 0: no index, or a damaged one
  std::string index_damage;  ///< why the index is not used
};

/// Nothing for a file without a log. Reads the index, or all metadata that it does not cover.
/// Errc::ebadlog and what opening throws.
std::optional<Hdf5LogFacts> hdf5_log_facts(const std::string& path);

struct Hdf5LogCheck {
  LogCheck check;
  Count all_bytes = 0;              ///< of data that there are
  std::vector<std::string> faults;  ///< sentences that begin with a dataset's path, or "log"
};

/// Nothing for a file without a log. Verifies every checksum in it; damage is told, not thrown.
/// `progress`: bytes done and all.
std::optional<Hdf5LogCheck> check_hdf5_log(const std::string& path,
                                           const std::function<void(Count, Count)>& progress);

}  // namespace forebay
