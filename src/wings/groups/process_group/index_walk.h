// Checks the index of one step in md.0 from its beginning to its end: whether all of it is there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/report.h"
#include "groups/format/bp.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/index_window.h"
#include "storage/file.h"
#include "storage/open_files.h"

namespace forebay::process_group {

class IndexWalk {
 public:
  /// Local. System errors if md.0 cannot be opened.
  IndexWalk(const std::string& path, Rank rank, Report& report);

  /// Returns the record of the step whose index begins at `at`. Returns nothing if that is not the
  /// whole index of a step with that number, or if values of its blocks are missing in data files.
  /// `heads`: requires the blocks' own heads too, which show that values were written if nothing
  /// else does.
  std::optional<bp::StepRecord> step_at(Offset at, std::uint64_t number, bool heads);

  /// Returns the first group entry of a step whose index begins at `at`.
  std::optional<bp::Group> first_group(Offset at);

  /// Returns the groups of the step found last: ranks, and places in their data.K.
  const std::vector<std::pair<Rank, Offset>>& groups() const { return groups_; }
  /// Returns for each data file the place of its last block of that step.
  const Places& blocks() const { return blocks_; }

  Count bytes() const { return window_.file_bytes(); }

 private:
  void look(bp::StepRecord& record, bool heads);
  bp::Group group_entry(Offset& at, Offset end);
  Offset look_at_groups(Offset at, std::uint64_t number, bool& column_major);
  Offset look_at_variables(Offset at, std::uint64_t number, bool column_major, bool heads);
  Offset look_at_attributes(Offset at);
  void look_at_block(const bp::Block& block, std::uint64_t number, bool heads);

  std::string path_;
  Rank rank_;
  Report& report_;
  File file_;
  IndexWindow window_;
  std::vector<std::pair<Rank, Offset>> groups_;
  Places blocks_;
  File* data(std::uint32_t number);
  OpenFiles<std::uint32_t, std::unique_ptr<File>> data_;
  std::map<std::uint32_t, Offset> ends_;
};

}  // namespace forebay::process_group
