// Finds the process groups of a BP4 directory from its data files alone, and makes their entries of
// md.0. This serves if the index is lost. It also works for a BP3 file.
//
// Groups follow one another. Behind a group that a kill left shorter than it states, the next group
// is searched at multiples of 64 bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/report.h"
#include "base/types.h"
#include "groups/format/bp.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/index_window.h"
#include "storage/file.h"

namespace forebay::process_group {

/// A group with a mark of its step.
struct FoundGroup {
  std::uint64_t opening = 0;
  Offset place = 0;
  std::uint32_t step = 0, file = 0, groups = 0;
  Rank rank = 0;
  bool whole = true;
};

/// A place in each data file, by its number.
using Places = std::map<std::uint32_t, Offset>;

/// The contents of a data file behind whole steps.
struct Leftover {
  Offset end = 0;             ///< end of groups as stated; at least the file's end
  std::uint64_t opening = 0;  ///< the largest in their marks; 0: none
};

/// Local. Examines groups from `from` on.
Leftover left_behind(File& data, Offset from);

/// Local. Returns the mark of the group at `place`, or nothing if there is none of that step.
std::optional<bp::GroupMark> mark_at(File& data, Offset place, std::uint64_t step);

/// Properties of an existing group.
struct WrittenGroup {
  Offset end = 0;             ///< includes a filler that follows it
  std::uint64_t opening = 0;  ///< 0: the group has no mark
};
/// Local. Returns nothing if there is no group.
std::optional<WrittenGroup> written_group(File& data, Offset place);

/// Local. Returns the numbers K of the files data.K of a directory, ascending.
std::vector<std::uint32_t> data_files(const std::string& path);

/// Groups that belong to no step.
struct Unused {
  bool next = false;        ///< groups of the next step
  std::uint32_t later = 0;  ///< number of a later step that has groups; 0: none
  bool unmarked = false;    ///< groups with blocks but without a mark
};

class GroupWalk {
 public:
  /// Local. Reads all data files, with 40 bytes of memory for each group. System errors. A file of
  /// the other byte order has no groups.
  GroupWalk(const std::string& path, Rank rank, Report& report);

  /// Returns the groups of a step in the order of ranks, if it is complete. They are of the last
  /// opening with a complete set, not before `opening`, and all lie behind `before`.
  std::vector<FoundGroup> step(std::uint32_t number, std::uint64_t opening,
                               const Places& before) const;

  /// Returns the opening of a step's group; nothing if there is no such group with a mark.
  std::optional<std::uint64_t> opening_of(std::uint32_t step, Rank rank, Offset place) const;

  /// Returns false if one of these groups of the step has a mark and another is not whole.
  bool may_be_whole(std::uint32_t step, std::span<const std::pair<Rank, Offset>> groups) const;

  /// Returns the unused groups behind `before`, of no opening before `opening`, with steps from
  /// `next` on.
  Unused unused(std::uint64_t next, std::uint64_t opening, const Places& before) const;

  /// Appends to `out` the index of these groups, which will be at `at` in md.0. Errc::ebad_file: a
  /// group is damaged. Takes memory for the index twice. In BP3 the groups may be of several steps,
  /// in order.
  bp::StepRecord print_index(std::span<const FoundGroup> groups, Offset at, bp::Bytes& out) const;

  /// Returns whether some group has a mark of the step.
  bool has(std::uint32_t step) const;

 private:
  struct Entries;
  struct OpenFile {
    OpenFile(const std::string& path, Rank rank, Report& report)
        : file(path, false, rank, report), window(file) {}
    File file;
    IndexWindow window;
  };
  OpenFile& data(std::uint32_t number) const;
  std::string data_path(std::uint32_t number) const;
  void walk(std::uint32_t number);
  void take(const FoundGroup& group, Entries& all, bp::Bytes& of_groups) const;

  std::string path_;
  bool one_file_;  // a BP3 file
  Rank rank_;
  Report& report_;
  mutable std::map<std::uint32_t, std::unique_ptr<OpenFile>> open_;  // at most one file
  std::vector<FoundGroup> groups_;                                   // by step, in the order found
  Places unmarked_;  // the last group with blocks and without a mark
};

}  // namespace forebay::process_group
