// What lies in the files of checkpoints, for people: nothing is opened to write, and nothing is
// changed.
#pragma once

#include <string>
#include <vector>

#include "format/checkpoint.h"

namespace forebay::checkpoint {

/// One rank's files in one directory.
struct RankFiles {
  Header header;
  std::string prefix;               ///< PREFIX.journal, PREFIX.data
  std::vector<Record> states;       ///< by kind, then step; of two of one state the later one
  std::vector<std::string> damage;  ///< in words
};

struct Inspection {
  std::vector<RankFiles> ranks;     ///< by rank
  std::vector<std::string> damage;  ///< files that are no journals, ranks that have none
};

/// The checkpoints NAME: files NAME.0.journal and so on, or the one journal that NAME is.
/// `verify`: all states are read, and their checksums compared, a few MiB at a time. Errc::enoent
/// where there is nothing of that name.
Inspection inspect(const std::string& name, bool verify);

}  // namespace forebay::checkpoint
