// Writes a group step by step (Lofstead et al. 2009, §III.B). Variables are written by name; their
// dimensions follow from the scalars written before in the same step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/records/group_targets.h"
#include "groups/records/group_writer.h"
#include "method/groups.h"
#include "method/method.h"

namespace forebay {

/// An array's place in the group's order of dimensions, C's or Fortran's. Null: not given.
struct GroupBox {
  const std::int64_t *shape = nullptr, *start = nullptr, *count = nullptr;
};

class GroupFile {
 public:
  /// Collective, with equal arguments. Replaces existing files, or, with `append`, continues after
  /// their last step. Methods are as choose_method() returns them for the group, paths absolute.
  /// Errc::enotsupport: a method cannot write groups. Errc::einval: the definitions make no sense,
  /// or two files are the same one. Errc::enoent: a folder of several files is not there.
  /// Errc::ebad_file: files to append to have different numbers of steps. Other errors are those of
  /// group_writer.h. If there are several files, one that was made before another failed stays,
  /// without a step.
  static std::unique_ptr<GroupFile> create(const Comm& comm, std::vector<GroupTarget> targets,
                                           const GroupDefinition& group, bool append);
  /// The same with one file.
  static std::unique_ptr<GroupFile> create(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool append) {
    return create(comm, {{path, method}}, group, append);
  }

  /// Local. Returns the declaration. Errc::enotvar: there is none.
  const GroupVariable& variable(const std::string& name) const;

  /// Local. Allocates memory for copies: this rank expects to write so many bytes in the current
  /// step. It may write more or fewer. Errc::einval: below 0; Errc::enomem.
  void expect_size(std::int64_t bytes);

  /// Local. Writes this rank's value or block of a variable, once a step. A string is C text with a
  /// zero. `lent`: the memory stays valid until end_step() and is not copied. After the first step,
  /// variables that are written once are left out. If this throws, it has written nothing.
  /// Errc::enotvar: no such variable. Errc::einval: the variable was written in this step, a scalar
  /// for its dimensions was not, or the pointer is null. Errc::eedge: the block lies outside its
  /// array. StepWriter's errors may occur, too. What one file of several refuses, the others have,
  /// and lent memory stays lent.
  void write(const std::string& name, const void* data, bool lent);
  /// Local. Writes an array's block at `box`, any number of times a step. `box` has all three lists
  /// for variables in <global>, and only `count` for others.
  void write_box(const std::string& name, const GroupBox& box, const void* data, bool lent);

  /// Collective, like GroupWriter::end_step(). What fails for one file of several does not keep the
  /// step from the others. If a histogram does not fit, this throws on the rank
  /// that has it, and the step is written without it.
  void end_step();
  void sync() { writer_->sync(); }
  void close() { writer_->close(); }

  std::uint64_t steps() const { return writer_->steps(); }

 private:
  GroupFile(const Comm& comm, const GroupDefinition& group) : comm_(comm), group_(group) {}
  bp::Shape shape_of(const GroupVariable& variable) const;
  bp::Shape shape_of(const GroupVariable& variable, const GroupBox& box) const;
  void complete(const GroupVariable& variable, bp::Shape& at) const;
  void add(const GroupVariable& variable, bp::Shape shape, const void* data, bool lent);
  void add_histogram(const GroupVariable& variable, std::span<const std::int64_t> counts,
                     bool lent);
  const GroupVariable& own_variable(const std::string& name);
  std::size_t number_of(const GroupVariable& variable) const;
  void remember(const GroupVariable& variable, const void* data);
  bool is_left_out(const GroupVariable& variable) const {
    return variable.once && writer_->steps() > 0;
  }

  Comm comm_;
  GroupDefinition group_;
  std::unique_ptr<GroupWriter> writer_;
  std::map<std::string, Count, std::less<>> scalars_;  // of the current step
  std::vector<bool> written_;  // by write() in the current step; for each variable
  std::size_t next_ = 0;       // after the variable that came last
  /// A block of the current step that still lacks its histogram.
  struct LateHistogram {
    const GroupVariable* variable;
    std::span<const std::byte> lent;   // values that the program may still change
    std::vector<std::int64_t> counts;  // otherwise: counts of copied values
  };
  std::vector<LateHistogram> late_;
};

}  // namespace forebay
