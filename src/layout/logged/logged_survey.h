// What a file in the log layout holds, counted, and whether it is as it was written: for tools that
// look into a file rather than read its datasets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "layout/logged/logged_file.h"

namespace forebay {

/// Sums over all writes in a file. Selections are counted as D6 §6.2.3 compares them: `plain`, a
/// start and a count in each dimension of each hyperslab; `flat`, an offset and a length for each
/// run; `packed`, compressed, but once for each write; `stored`, what the file has.
struct LogStatistics {
  Count writes = 0;
  Count entries = 0;  ///< writes and cuts
  Count datasets = 0;
  Count hyperslabs = 0;
  Count data_bytes = 0;  ///< values as stored, filters applied
  Count plain = 0, flat = 0, packed = 0, stored = 0;
  Count shared = 0;          ///< writes whose selection was in the file already
  Count blocks = 0;          ///< of metadata: flushes
  Count block_bytes = 0;     ///< of all blocks that were told to the file with their places
  Count indexed_blocks = 0;  ///< that the index covers; 0 without one
  Count subfiles = 0;        ///< that entries point to
};

/// Local. From the index where it covers a block, else from the block's sections. Reads the index'
/// lists one at a time. Errc::ebadlog, etrunc.
LogStatistics log_statistics(LoggedFile& file);

/// What does not hold, and of which dataset; without one, what concerns the file.
struct LogFault {
  std::optional<std::uint64_t> dataset;
  std::string problem;
};

struct LogCheck {
  Count sections = 0, patterns = 0, entries = 0, lists = 0;  ///< verified
  Count bytes = 0;                                           ///< of data, verified
  std::vector<LogFault> faults;  ///< at most eight of a dataset, then one that counts the rest
};

/// Local. Verifies every checksum: of the index' lists, of each section of metadata, of each
/// selection and of the data of each write, in subfiles too. All blocks must have been added with
/// their places. Throws nothing for damage; goes on after it. Memory: one section and 4 MiB.
/// `progress` is told bytes of data done; may be empty.
LogCheck check_log(LoggedFile& file, const std::function<void(Count)>& progress);

}  // namespace forebay
