// Destinations of a group's steps: process groups of a BP file, records of a netCDF file, or
// nothing. The program that writes them is the same (Lofstead et al. 2009, §III.B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/process_group/step_writer.h"
#include "method/groups.h"
#include "method/method.h"

namespace forebay {

class GroupWriter {
 public:
  virtual ~GroupWriter() = default;

  /// Collective, once, before all else. Makes the file, or replaces an existing one, or, with
  /// `append`, continues after its last step.
  virtual void start(bool append) = 0;

  /// Local. Adds a block of the group's variable with that number to the current step. `data` has
  /// its elements in the group's order of dimensions, or a string's text. It is copied, or, if
  /// `lent`, stays valid until end_step() has returned. If this throws, it has added nothing,
  /// unless adds() has grown.
  virtual void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data,
                   bool lent) = 0;
  /// Local. Of a writer to several files: how many calls of add() at least one of them has taken.
  virtual std::uint64_t adds() const { return 0; }

  /// Local. Reserves so many bytes for copies in the current step, in one piece.
  virtual void make_room(std::size_t bytes) = 0;

  /// Collective. When this returns, what all ranks added is one step of the file. If it throws, it
  /// throws on all ranks and drops the step; earlier ones are unchanged, and the next may be
  /// written.
  virtual void end_step() = 0;
  /// Collective. All steps so far are on the device.
  virtual void sync() = 0;
  /// Collective. Drops what was added since end_step(). Prints the file's report, if one is wanted.
  virtual void close() = 0;

  virtual std::uint64_t steps() const = 0;  ///< in the file, including those of other writers
};

/// Local. Returns how a method writes process groups. Errc::enotsupport: BP files have no use for
/// some key.
process_group::WriteOptions group_write_options(const Method& method);

/// Local, on all ranks, before any block is added. An index entry takes a few hundred bytes; if
/// there are many, the ranks of a node assemble them in windows. `comm` and `report` must outlive
/// the file.
void write_index_in_windows(process_group::StepWriter& file, const Comm& comm, const Method& method,
                            Report& report);

// Local, on all ranks with equal arguments. `comm` and `group` must outlive the writer. Nothing is
// made before start(), and what can be refused without a file is refused before it.

/// Errc::enotsupport: BP files have no use for some key of the method. Other errors are those of
/// process_group::StepWriter. Without `append`, rank 0 looks whether it may replace what is there.
std::unique_ptr<GroupWriter> write_process_groups(const Comm& comm, const std::string& path,
                                                  const GroupDefinition& group,
                                                  const Method& method, bool append);
/// Writes any layout of netCDF files. Each step is a record, or a file (method.split).
/// Errc::enameinuse, ebadname: such a file cannot have a name of the group. Other errors are
/// Dataset's.
std::unique_ptr<GroupWriter> write_records(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool append);

/// Local. Returns a writer to all of these files; at least one. Each call goes to every file, also
/// if one fails, and throws the first error, with the file's path. `group` must outlive it. start()
/// throws Errc::ebad_file if files to append to have different numbers of steps.
struct NamedWriter {
  std::string path;
  std::unique_ptr<GroupWriter> writer;
};
std::unique_ptr<GroupWriter> write_to_all(const GroupDefinition& group,
                                          std::vector<NamedWriter> files);
/// Returns a writer that only counts steps: it measures a program without I/O (Lofstead et al.
/// 2009, §III.C).
std::unique_ptr<GroupWriter> write_nothing();

}  // namespace forebay
