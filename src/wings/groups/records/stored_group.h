// A file of groups, by numbers of variables and steps: process groups of a BP file, or records of a
// netCDF file. The program that reads them is the same (Lofstead et al. 2009, §III.B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/group_type.h"
#include "array/selection.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/process_group/step_status.h"
#include "method/method.h"

namespace forebay {

class StoredGroup {
 public:
  virtual ~StoredGroup() = default;

  virtual const std::string& path() const = 0;
  virtual std::int64_t steps() const = 0;
  virtual int variables() const = 0;

  // Functions from here on are local unless they say otherwise. The caller makes sure that
  // variables and blocks of these numbers exist, and that steps are not negative.
  // Errc::einvalcoords: no such step, or the step does not have the variable.

  /// Accepts names with or without a leading "/". Errc::enotvar suggests a similar name.
  virtual std::size_t find(const std::string& name) const = 0;
  virtual const std::string& name(std::size_t variable) const = 0;
  virtual GroupType type(std::size_t variable) const = 0;
  /// Returns the bytes of an element, also if type() has no word for it; 0: a string.
  virtual Count element_size(std::size_t variable) const = 0;
  /// Returns the number of dimensions of the array that the blocks make together.
  virtual int dimensions(std::size_t variable) const = 0;
  /// Returns the shape of that array, in C's order.
  virtual std::vector<Count> shape(std::size_t variable, std::int64_t step) const = 0;
  /// Returns the value of a string variable.
  virtual std::string text(std::size_t variable, std::int64_t step) const = 0;

  virtual std::int64_t blocks(std::size_t variable, std::int64_t step) const = 0;
  /// Returns a block's place. `start` is zero outside global arrays.
  virtual Subarray block(std::size_t variable, std::int64_t step, std::int64_t number) const = 0;
  /// Finds the least and greatest value of a step, as GroupReader::range() does.
  virtual int range(std::size_t variable, std::int64_t step, double& least,
                    double& greatest) const = 0;
  /// Returns the moments of all blocks of a step. A count of -1: the index does not tell.
  virtual bp::Moments moments(std::size_t variable, std::int64_t step) const = 0;
  /// Finds blocks by a condition, as GroupReader::find() does.
  virtual std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                            std::int64_t* blocks) const = 0;

  /// Reads numbers and characters in their type and this machine's byte order. Errc::einvalcoords,
  /// enegativecnt, eedge: the box lies outside.
  virtual void read(std::size_t variable, std::int64_t step, const Subarray& box,
                    std::byte* out) const = 0;
  virtual void read_block(std::size_t variable, std::int64_t step, std::int64_t number,
                          std::byte* out) const = 0;
  /// Queues what read() would read; throws if the read is wrong.
  virtual void read_later(std::size_t variable, std::int64_t step, const Subarray& box,
                          std::byte* out) = 0;
  /// Collective. Carries out the queued reads, or drops them with an error on all ranks.
  virtual void perform_reads() = 0;
  /// Collective. Waits for further steps, as BpReader::find_steps(). Files other than BP4
  /// directories have the steps of their opening.
  virtual process_group::StepStatus find_steps(double /*seconds*/) {
    return process_group::StepStatus::end;
  }
  /// Collective.
  virtual void close() = 0;
  virtual const Report& report() const = 0;
};

// Collective, with equal arguments. The transport of `method` carries collective reads. The file
// itself says how it is laid out.

/// Throws the errors of process_group::BpReader.
std::unique_ptr<StoredGroup> open_process_groups(const Comm& comm, const std::string& path,
                                                 const Method& method);
/// Opens any netCDF file that Dataset opens, whoever wrote it. Throws Dataset's errors.
std::unique_ptr<StoredGroup> open_records(const Comm& comm, const std::string& path,
                                          const Method& method);

}  // namespace forebay
