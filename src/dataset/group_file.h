// What a program writes of a group, step by step (A §III.B): its variables by name, with dimensions
// that follow from the scalars that it wrote before in the same step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "dataset/group_writer.h"
#include "format/bp.h"
#include "method/groups.h"
#include "method/method.h"

namespace forebay {

/// An array's place in C's or in Fortran's order, as the group has it. Null: not given.
struct GroupBox {
  const std::int64_t *shape = nullptr, *start = nullptr, *count = nullptr;
};

class GroupFile {
 public:
  /// Collective, with equal arguments. A new file, in place of one that is there, or one that goes
  /// on behind its last step. `method` as choose_method() gives it for the group.
  /// Errc::enotsupport: a method that groups cannot be written by; Errc::einval: definitions that
  /// make no sense; else as the writers of group_writer.h.
  static std::unique_ptr<GroupFile> create(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool append);

  /// Local. As it was declared; Errc::enotvar where it was not.
  const GroupVariable& variable(const std::string& name) const;

  /// Local. This rank will write so many bytes in the step under way, or more, or fewer: memory for
  /// copies of them is had now. Errc::einval: below 0; Errc::enomem.
  void expect_size(std::int64_t bytes);

  /// Local. This rank's value or block of a variable, once a step, C's text with a zero where it is
  /// a string; `lent`: it stays until end_step(), and is not copied. In steps behind the first
  /// those of variables that are written once are left out. What throws has written nothing:
  /// Errc::enotvar, no such variable; Errc::einval, one that was written in this step, a scalar
  /// that its dimensions need and that was not, null; Errc::eedge, a block outside its array; and
  /// those of StepWriter.
  void write(const std::string& name, const void* data, bool lent);
  /// Local. The same for an array, any number of times a step, where the box says. Of variables in
  /// <global> it has all three, else `count` alone.
  void write_box(const std::string& name, const GroupBox& box, const void* data, bool lent);

  /// Collective, as GroupWriter's. Where a histogram does not fit, this throws on the rank that it
  /// is of, and the step is written without it.
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
  std::map<std::string, Count, std::less<>> scalars_;  // of the step under way
  std::vector<bool> written_;                          // the same, by write(); of all variables
  std::size_t next_ = 0;                               // behind the variable that came last
  /// Of a block that is in the step under way, whose histogram is not.
  struct LateHistogram {
    const GroupVariable* variable;
    std::span<const std::byte> lent;   // values, which the program may still change
    std::vector<std::int64_t> counts;  // else: of values that were copied
  };
  std::vector<LateHistogram> late_;
};

}  // namespace forebay
