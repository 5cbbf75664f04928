// The index at the end of a BP3 file while ranks write it: what it has so far, and how it is
// exchanged for the next one. As no rank holds it, lists of entries are carried over from the old
// one in the file, by all ranks, each a share of the bytes.
//
//     groups | index, footer                                          between steps
//     groups | new groups | new index, footer | index, footer         while a step is written
//
// The next step's groups lie where the index was. So it is first copied, with its footer, to behind
// where all of the step will end; then groups and new index are written; then the file is cut off
// behind the new footer: with that the step is in the file. What the copy will end with is written
// before it, a footer that names the old index still: whenever a kill comes, the file ends with a
// footer, of what was before the step, or of the step too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "comm/comm.h"
#include "format/bp_write.h"
#include "layout/process_group/catalogue.h"
#include "layout/process_group/step_index.h"
#include "storage/file.h"

namespace forebay::process_group {

[[noreturn]] inline void cannot_append(const std::string& path, const std::string& why,
                                       const std::string& advice = "write a new file") {
  throw Error(Errc::ebad_file, path + " cannot be appended to: " + why, advice);
}

class TrailingIndex {
 public:
  /// Entries of groups, or of a name's, in the index.
  struct List {
    Offset at = 0;  ///< counted from where the index begins
    Count bytes = 0;
    std::int64_t entries = 0;
  };
  /// Equal on all ranks. An empty one has the heads of its parts alone.
  struct Contents {
    Offset begin = 0;
    Offset variables = bp::groups_head_bytes,
           attributes = bp::groups_head_bytes + bp::elements_head_bytes;
    Count bytes = bp::groups_head_bytes + 2 * bp::elements_head_bytes;
    List groups;
    std::vector<List> names;  ///< by place in the catalogue
  };
  /// Of a file that is there.
  struct Found {
    Contents contents;
    std::vector<Name> names;
    std::uint64_t steps = 0, opening = 0;
    Offset data_end = 0;  ///< of its groups
  };

  /// Outlived by `file`; with `drops` nothing is in it.
  TrailingIndex(const Comm& comm, File& file, bool drops)
      : comm_(comm), file_(file), drops_(drops) {}

  /// Local, on one rank. Of an empty file.
  void write_empty();
  /// Local. Errc::ebad_file: `file` is none that can be appended to, by arrays of this order.
  static Found find(const std::string& path, bool column_major, Rank rank, Report& report);
  /// Collective. That of rank 0.
  void learn(Contents&& contents);

  const List& groups() const { return now_.groups; }
  List of(std::size_t name) const { return name < now_.names.size() ? now_.names[name] : List(); }
  Offset begin() const { return now_.begin; }
  Offset end() const { return now_.begin + now_.bytes + bp::whole_footer_bytes; }

  /// Collective. Behind it the index lies behind `end`. `failed`: an error of this rank from
  /// before. 1 meeting, and 3 where it had to be moved.
  void make_way(Offset end, const std::optional<Error>& failed);
  /// Collective. The file ends right behind the index: a kill while that moved may have left more.
  void cut_to_size();
  /// Collective. What lies from `end` to the index is of no step: so that none is ever made of it,
  /// the index takes its place if it fits there, else the first group is spoiled. As far as that
  /// works.
  void settle(Offset end);

  /// Local. This rank's share of what the old index has goes to where a new one has it: `names` of
  /// the catalogue, as the plan has them.
  void carry(const IndexPlan& plan, std::span<const std::size_t> names) const;
  /// Collective. The new one is in the file, but for its footer: this makes it the file's.
  void show(const bp::StepRecord& places, Contents&& contents);

 private:
  struct Move {
    Offset from;  // counted from where the index begins
    Count bytes;
    Offset to;
  };
  /// Collective. To where there is nothing, or nothing that is needed, and not over itself.
  void move_to(Offset begin);
  std::pair<Count, Count> share_of(Count bytes) const;
  void read(Offset from, std::span<std::byte> into) const;
  void copy_share(Offset to) const;
  void carry_out(std::span<const Move> moves) const;
  void end_with_footer(Offset begin, Offset variables, Offset attributes, Offset end);

  Comm comm_;
  File& file_;
  bool drops_;
  Contents now_;
};

}  // namespace forebay::process_group
