// Counts what a file in the log layout holds, and checks that it is undamaged. For tools that
// inspect a file and do not read its datasets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/log/logged_file.h"

namespace forebay {

/// Sums over all writes in a file.
struct LogStatistics {
  logged::Savings selections;
  Count entries = 0;  ///< writes and cuts
  Count datasets = 0;
  Count data_bytes = 0;      ///< values as stored, filters applied
  Count blocks = 0;          ///< of metadata; one for each flush
  Count block_bytes = 0;     ///< of all blocks whose places the file has
  Count indexed_blocks = 0;  ///< that the index covers; 0 without one
  Count subfiles = 0;        ///< that entries point to
};

/// Local. Counts from the index if it covers a block, else from the block's sections. Reads the
/// lists of the index one at a time. Errc::ebadlog, etrunc.
LogStatistics log_statistics(LoggedFile& file);

/// A fault, and the dataset that has it. Without a dataset it concerns the file.
struct LogFault {
  std::optional<std::uint64_t> dataset;
  std::string problem;
};

struct LogCheck {
  Count sections = 0, patterns = 0, entries = 0, lists = 0;  ///< verified
  Count bytes = 0;                                           ///< bytes of data verified
  std::vector<LogFault> faults;  ///< at most 8 for each dataset, then a count of the others
};

/// Local. Verifies every checksum: of the index's lists, of each section of metadata, of each
/// selection, and of the data of each write, in subfiles too. All blocks must have been added with
/// their places. Damage does not throw, and the check continues after it. Memory: one section and 4
/// MiB. `progress` receives bytes of checked data; it may be empty.
LogCheck check_log(LoggedFile& file, const std::function<void(Count)>& progress);

}  // namespace forebay
