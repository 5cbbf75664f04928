// Reads a file of groups by name and step (Lofstead et al. 2009, §III.B). The file itself says what
// it contains; declarations are not consulted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/group_type.h"
#include "base/report.h"
#include "comm/comm.h"
#include "groups/records/stored_group.h"
#include "method/method.h"

namespace forebay {

class GroupReader {
 public:
  /// Collective, with equal arguments. The contents decide whether it is a BP or a netCDF file.
  /// Errors are those of stored_group.h. The transport of `method` carries collective reads.
  GroupReader(const Comm& comm, const std::string& path, const Method& method = {});

  std::int64_t steps() const { return file_->steps(); }
  int variables() const { return file_->variables(); }
  /// Collective, on the ranks of the opening. Sets `step` to the next step, from 0 on, and returns
  /// `ok`. Behind the last one it waits for another, as BpReader::find_steps().
  process_group::StepStatus begin_step(double seconds, std::int64_t& step);
  /// Errc::enotvar: there are not so many variables.
  const std::string& name(int number) const;

  // Functions from here on are local. Steps count from 0. Errc::enotvar: no such variable.
  // Errc::einvalcoords: no such step or block, or the step does not have the variable. Other errors
  // are the file's.

  GroupType type(const std::string& name) const;
  int dimensions(const std::string& name) const;
  /// Returns the shape of all blocks together, in C's order.
  std::vector<std::int64_t> shape(const std::string& name, std::int64_t step) const;
  /// Returns the bytes of all values; for a string, of its text and a zero.
  std::int64_t bytes(const std::string& name, std::int64_t step) const;
  /// These return the number of blocks, and one block's place. `start` is zero outside global
  /// arrays.
  std::int64_t blocks(const std::string& name, std::int64_t step) const;
  void block(const std::string& name, std::int64_t step, std::int64_t number, std::int64_t* start,
             std::int64_t* count) const;
  /// Sets the least and greatest finite value of a step's blocks from the index and returns 1.
  /// Returns 0 if there is none or the type has no order, and -1 if the index does not tell.
  int range(const std::string& name, std::int64_t step, double& least, double& greatest) const;
  /// Returns the number of finite values in a step's blocks and sets their mean and standard
  /// deviation, from the index. Returns -1 if the index does not tell. `mean` and `deviation` are
  /// unchanged if no value is finite.
  std::int64_t moments(const std::string& name, std::int64_t step, double& mean,
                       double& deviation) const;

  /// Reads a box in the variable's type and C's order; null: all of it. A string gets its text and
  /// a zero.
  void read(const std::string& name, std::int64_t step, const std::int64_t* start,
            const std::int64_t* count, void* data) const;
  void read_block(const std::string& name, std::int64_t step, std::int64_t number,
                  void* data) const;
  /// Queues the same read for perform_reads(). An error in the arguments is thrown here, and
  /// nothing is queued.
  void read_later(const std::string& name, std::int64_t step, const std::int64_t* start,
                  const std::int64_t* count, void* data);
  /// Collective, also for ranks that have queued nothing. Carries out the queued reads of all ranks
  /// and clears the queue. An error of one rank is an error on all ranks.
  void perform_reads() { file_->perform_reads(); }
  /// Collective. Drops queued reads that were not carried out. Prints the file's report, if one is
  /// wanted.
  void close() { file_->close(); }
  const Report& report() const { return file_->report(); }

  /// Finds, from the index, blocks that may have elements for which a condition is true. Writes the
  /// first `most` of their steps and numbers; either list may be null. Returns how many there are.
  /// Errc::enotsupport: the file has no index of values.
  std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                    std::int64_t* blocks) const;

 private:
  /// Calls f(variable, box) if there are elements to read. Writes text itself.
  template <typename F>
  void with_box(const std::string& name, std::int64_t step, const std::int64_t* start,
                const std::int64_t* count, void* data, F&& f) const;
  std::size_t with_block(const std::string& name, std::int64_t step, std::int64_t number) const;

  std::unique_ptr<StoredGroup> file_;
  std::int64_t next_ = 0;  // for begin_step()
};

}  // namespace forebay
