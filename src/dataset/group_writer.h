// Where the steps of a group go: process groups of a BP file, records of a netCDF file, nowhere.
// The program that writes them is the same (A §III.B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "comm/comm.h"
#include "format/bp.h"
#include "layout/process_group/step_writer.h"
#include "method/groups.h"
#include "method/method.h"

namespace forebay {

class GroupWriter {
 public:
  virtual ~GroupWriter() = default;

  /// Local. A block of the step under way, of the group's variable with that number: its elements
  /// one after another, in the order of dimensions that the group has, of a string its text. They
  /// are copied, or, if `lent`, stay until end_step() has returned. What throws has added nothing.
  virtual void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data,
                   bool lent) = 0;

  /// Local. Room for so many bytes of copies in the step under way, in one piece.
  virtual void make_room(std::size_t bytes) = 0;

  /// Collective. What all ranks added is one step of the file when this returns. When it throws, on
  /// all ranks, the step is dropped, earlier ones are as they were, and the next may be written.
  virtual void end_step() = 0;
  /// Collective. All steps so far are on the device.
  virtual void sync() = 0;
  /// Collective. Drops what was added since end_step(). The file's report, if one is wanted, says
  /// what was done.
  virtual void close() = 0;

  virtual std::uint64_t steps() const = 0;  ///< in the file, whoever wrote them
};

/// Local. How a method writes process groups. Errc::enotsupport: keys that BP files have no use
/// for.
process_group::WriteOptions group_write_options(const Method& method);

/// Local, on all ranks, before any block is added. Entries of the index are some hundred bytes
/// each: where there are many, ranks of a node put them together in windows. `comm` and `report`
/// outlive the file.
void write_index_in_windows(process_group::StepWriter& file, const Comm& comm, const Method& method,
                            Report& report);

// Collective, with equal arguments; `comm` and `group` outlive the writer. A new file, in place of
// one that is there, or one that goes on behind its last step.

/// Errc::enotsupport for keys of the method that BP files have no use for; else as
/// process_group::StepWriter.
std::unique_ptr<GroupWriter> write_process_groups(const Comm& comm, const std::string& path,
                                                  const GroupDefinition& group,
                                                  const Method& method, bool append);
/// Any layout of netCDF files. Each step is a record, or a file (method.split). Errc::enameinuse,
/// ebadname: names that such a file cannot have; else as Dataset.
std::unique_ptr<GroupWriter> write_records(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool append);
/// Steps are counted, and that is all: what a program takes without I/O (A §III.C).
std::unique_ptr<GroupWriter> write_nothing();

}  // namespace forebay
