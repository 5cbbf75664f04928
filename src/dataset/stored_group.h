// What a file of groups has, by numbers of variables and steps: process groups of a BP file, or
// records of a netCDF file. The program that reads them is the same (A §III.B).
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
#include "format/bp.h"
#include "method/method.h"

namespace forebay {

class StoredGroup {
 public:
  virtual ~StoredGroup() = default;

  virtual const std::string& path() const = 0;
  virtual std::int64_t steps() const = 0;
  virtual int variables() const = 0;

  // Local, as all that follows, but where it is said. The caller knows that there are variables and
  // blocks of these numbers, and that steps are not negative. Errc::einvalcoords: no such step, or
  // one that does not have the variable.

  /// With "/" before the name or without. Errc::enotvar, with the name that was meant.
  virtual std::size_t find(const std::string& name) const = 0;
  virtual const std::string& name(std::size_t variable) const = 0;
  virtual GroupType type(std::size_t variable) const = 0;
  /// Bytes, also where type() has no word for it; 0: a string.
  virtual Count element_size(std::size_t variable) const = 0;
  /// Those of the array that blocks make together.
  virtual int dimensions(std::size_t variable) const = 0;
  /// Of that array, in C's order.
  virtual std::vector<Count> shape(std::size_t variable, std::int64_t step) const = 0;
  /// A string.
  virtual std::string text(std::size_t variable, std::int64_t step) const = 0;

  virtual std::int64_t blocks(std::size_t variable, std::int64_t step) const = 0;
  /// Where one lies: `start` is zero in what is no global array.
  virtual Subarray block(std::size_t variable, std::int64_t step, std::int64_t number) const = 0;
  /// Its least and greatest value in a step, as GroupReader has it.
  virtual int range(std::size_t variable, std::int64_t step, double& least,
                    double& greatest) const = 0;
  /// Of all its blocks in a step; a count of -1: the index does not tell.
  virtual bp::Moments moments(std::size_t variable, std::int64_t step) const = 0;
  /// Blocks by a condition, as GroupReader has it.
  virtual std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                            std::int64_t* blocks) const = 0;

  /// Of numbers and characters, in their type and this machine's byte order. Errc::einvalcoords,
  /// enegativecnt, eedge: a box outside.
  virtual void read(std::size_t variable, std::int64_t step, const Subarray& box,
                    std::byte* out) const = 0;
  virtual void read_block(std::size_t variable, std::int64_t step, std::int64_t number,
                          std::byte* out) const = 0;
  /// Notes what read() would read, and throws what is wrong with it.
  virtual void read_later(std::size_t variable, std::int64_t step, const Subarray& box,
                          std::byte* out) = 0;
  /// Collective. What ranks have noted is there, or forgotten with an error on all of them.
  virtual void perform_reads() = 0;
  /// Collective.
  virtual void close() = 0;
  virtual const Report& report() const = 0;
};

// Collective, with equal arguments. `method`: its transport carries collective reads. The file says
// how it is laid out.

/// Errors as process_group::BpReader has them.
std::unique_ptr<StoredGroup> open_process_groups(const Comm& comm, const std::string& path,
                                                 const Method& method);
/// Any netCDF file that Dataset opens, whoever wrote it. Errors as Dataset has them.
std::unique_ptr<StoredGroup> open_records(const Comm& comm, const std::string& path,
                                          const Method& method);

}  // namespace forebay
