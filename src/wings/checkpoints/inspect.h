// Shows people the contents of checkpoint files. Files are opened for reading only.
#pragma once

#include <string>
#include <vector>

#include "checkpoints/format/checkpoint.h"

namespace forebay::checkpoint {

/// One rank's files in one directory.
struct RankFiles {
  Header header;
  std::string prefix;               ///< PREFIX.journal, PREFIX.data
  std::vector<Record> states;       ///< by kind, then step; the later of two records of one state
  std::vector<std::string> damage;  ///< in words
};

struct Inspection {
  std::vector<RankFiles> ranks;     ///< by rank
  std::vector<std::string> damage;  ///< files that are not journals, ranks without one
};

/// Returns whether checkpoints have that name, or a journal has that path. Reads no more than its
/// first bytes.
bool is_there(const std::string& name);

/// Inspects the checkpoints NAME: the files NAME.0.journal and so on, or one journal if NAME is its
/// path. `verify`: reads all states and compares their checksums, a few MiB at a time. Errc::enoent
/// if nothing has that name.
Inspection inspect(const std::string& name, bool verify);

}  // namespace forebay::checkpoint
