// The process groups of a BP4 directory by its data files alone, and what md.0 has of them: what is
// left where the index is lost. Those of a BP3 file, too.
//
// Groups lie one behind the other. Behind one that a kill left, which is not as long as it says,
// the next one is looked for at multiples of 64 bytes.
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
#include "format/bp.h"
#include "format/bp_write.h"
#include "layout/process_group/index_window.h"
#include "storage/file.h"

namespace forebay::process_group {

/// A group that says of which step it is.
struct FoundGroup {
  std::uint64_t opening = 0;
  Offset place = 0;
  std::uint32_t step = 0, file = 0, groups = 0;
  Rank rank = 0;
  bool whole = true;
};

/// Of each data file, by its number, a place in it.
using Places = std::map<std::uint32_t, Offset>;

/// What lies in a data file behind whole steps.
struct Leftover {
  Offset end = 0;             ///< where groups end by what they say; not before the file does
  std::uint64_t opening = 0;  ///< the largest of their marks; 0: none
};

/// Of groups from `from` on. Local.
Leftover left_behind(File& data, Offset from);

/// What the group at `place` says; nothing where there is none. Local.
std::optional<bp::GroupMark> mark_at(File& data, Offset place, std::uint64_t step);

/// Of a group that is there.
struct WrittenGroup {
  Offset end = 0;             ///< with a filler that follows it
  std::uint64_t opening = 0;  ///< 0: it does not say
};
/// Local. Nothing where there is none.
std::optional<WrittenGroup> written_group(File& data, Offset place);

/// Numbers K of the files data.K of a directory, ascending. Local.
std::vector<std::uint32_t> data_files(const std::string& path);

/// What of groups is in no step.
struct Unused {
  bool next = false;        ///< some of the step that would follow
  std::uint32_t later = 0;  ///< the number of one behind that; 0: none
  bool unmarked = false;    ///< blocks of groups that do not say of which step they are
};

class GroupWalk {
 public:
  /// Local. Goes through all data files; 40 bytes for each group. Errors are those of the system; a
  /// file that is none of this machine's byte order has no groups.
  GroupWalk(const std::string& path, Rank rank, Report& report);

  /// Groups of a step in the order of ranks, if all of them are there: of the last opening that has
  /// them all, none before `opening`, and all of its groups behind `before`.
  std::vector<FoundGroup> step(std::uint32_t number, std::uint64_t opening,
                               const Places& before) const;

  /// Of the group of a step that is there; nothing where there is none that says it.
  std::optional<std::uint64_t> opening_of(std::uint32_t step, Rank rank, Offset place) const;

  /// Not if one of these groups of the step has a mark and another is not there in whole.
  bool may_be_whole(std::uint32_t step, std::span<const std::pair<Rank, Offset>> groups) const;

  /// Of those behind `before` and not of an opening before `opening`, with steps from `next` on.
  Unused unused(std::uint64_t next, std::uint64_t opening, const Places& before) const;

  /// What md.0 has of these groups, to stand at `at`, is appended to `out`. Errc::ebad_file: a
  /// group is damaged. Takes memory for that, twice.
  /// Of BP3 groups of several steps, in their order.
  bp::StepRecord print_index(std::span<const FoundGroup> groups, Offset at, bp::Bytes& out) const;

  bool any() const { return !groups_.empty(); }
  /// Whether a group that is there says that it is of the step.
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
  bool one_file_;  // of BP3
  Rank rank_;
  Report& report_;
  mutable std::map<std::uint32_t, std::unique_ptr<OpenFile>> open_;  // one at a time
  std::vector<FoundGroup> groups_;                                   // by step, in the order found
  Places unmarked_;  // the last group with blocks and without a mark
};

}  // namespace forebay::process_group
