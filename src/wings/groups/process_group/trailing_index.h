// The index at the end of a BP3 file while ranks write it, and its replacement by the next one. No
// rank holds it. Instead all ranks copy lists of entries from the old index in the file, each a
// share of the bytes.
//
//     groups | index, footer                                          between steps
//     groups | new groups | new index, footer | index, footer         while a step is written
//
// The next step's groups overwrite the index. So the index is first copied behind the end of the
// whole step. The footer of the copy is written before it, and still refers to the old index. Then
// groups and the new index are written. Then the file is truncated behind the new footer, which
// makes the step visible. So after a kill at any instant the file ends with a footer: of the state
// before the step, or after it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "comm/comm.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/step_index.h"
#include "storage/file.h"

namespace forebay::process_group {

class TrailingIndex {
 public:
  /// The contents of the index, equal on all ranks. An empty index has only the heads of its parts.
  struct Contents {
    bp::StepRecord places{.variables = bp::groups_head_bytes,
                          .attributes = bp::groups_head_bytes + bp::elements_head_bytes,
                          .end = bp::groups_head_bytes + 2 * bp::elements_head_bytes};
    IndexList groups;
    std::vector<IndexList> names;  ///< by place in the catalogue
  };
  /// The contents of an existing file.
  struct Found {
    Contents contents;
    std::vector<Name> names;
    std::uint64_t steps = 0, opening = 0;
    Offset data_end = 0;  ///< end of its groups
  };

  /// `file` must outlive this object. With `drops` the file stays empty.
  TrailingIndex(const Comm& comm, File& file, bool drops)
      : comm_(comm), file_(file), drops_(drops) {}

  /// Local, on one rank. Writes the index of an empty file.
  void write_empty();
  /// Local. Reads the index of a file to which steps are appended. Errc::ebad_file: arrays of this
  /// order cannot be appended to it.
  static Found find(const std::string& path, bool column_major, Rank rank, Report& report);
  /// Collective. Broadcasts the contents that rank 0 has.
  void learn(Contents&& contents);

  const IndexList& groups() const { return now_.groups; }
  IndexList of(std::size_t name) const {
    return name < now_.names.size() ? now_.names[name] : IndexList();
  }
  Offset begin() const { return now_.places.groups; }
  Offset end() const { return now_.places.end + bp::whole_footer_bytes; }

  /// Collective. Moves the index behind `end` if it is not there. `failed` is an earlier error of
  /// this rank. It takes 1 collective step, and 3 if the index is moved.
  void make_way(Offset end, const std::optional<Error>& failed);
  /// Collective. Truncates the file behind the index, as a kill during a move may have left more.
  void cut_to_size();
  /// Collective. Bytes from `end` to the index belong to no step. So that recovery never makes a
  /// step of them, the index is moved there if it fits, otherwise the first group is overwritten.
  /// Done as far as possible.
  void settle(Offset end);

  /// Local. Copies this rank's share of the old index's entries to their places in the new one.
  void carry(const StepIndex& step);
  /// Collective. Makes the copied index the file's index. Only its footer is missing so far.
  void show();

 private:
  struct Move {
    Offset from;  // counted from where the index begins
    Count bytes;
    Offset to;
  };
  /// Collective. Moves the index to bytes that are not needed and do not overlap it.
  void move_to(Offset begin);
  std::pair<Count, Count> share_of(Count bytes) const;
  void read(Offset from, std::span<std::byte> into) const;
  void copy_share(Offset to) const;
  void carry_out(std::span<const Move> moves) const;
  void end_with_footer(const bp::StepRecord& places);
  Count bytes() const { return now_.places.end - now_.places.groups; }

  Comm comm_;
  File& file_;
  bool drops_;
  Contents now_, next_;
};

}  // namespace forebay::process_group
