// What a program reads of a file of groups, by name and step (A §III.B). The file says what is in
// it, whoever wrote it; declarations are not looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/group_type.h"
#include "base/report.h"
#include "comm/comm.h"
#include "dataset/stored_group.h"
#include "method/method.h"

namespace forebay {

class GroupReader {
 public:
  /// Collective, with equal arguments. What is there says whether it is a BP or a netCDF file.
  /// Errors as those have them (stored_group.h). `method`: its transport carries collective reads.
  GroupReader(const Comm& comm, const std::string& path, const Method& method = {});

  std::int64_t steps() const { return file_->steps(); }
  int variables() const { return file_->variables(); }
  /// Errc::enotvar where there are not so many.
  const std::string& name(int number) const;

  // Local, from here on. Steps count from 0. Errors: Errc::enotvar, no such variable; einvalcoords,
  // no such step or block, or a step that does not have the variable; else the file's.

  GroupType type(const std::string& name) const;
  int dimensions(const std::string& name) const;
  /// Of all blocks together, in C's order.
  std::vector<std::int64_t> shape(const std::string& name, std::int64_t step) const;
  /// Bytes of all values; of a string those of its text and a zero.
  std::int64_t bytes(const std::string& name, std::int64_t step) const;
  /// How many there are, and where one lies: `start` is zero in what is no global array.
  std::int64_t blocks(const std::string& name, std::int64_t step) const;
  void block(const std::string& name, std::int64_t step, std::int64_t number, std::int64_t* start,
             std::int64_t* count) const;
  /// The least and greatest finite value, over the blocks of a step, as the index has them, and 1.
  /// 0: there is none, or the type has no order. -1: the index does not tell.
  int range(const std::string& name, std::int64_t step, double& least, double& greatest) const;
  /// How many values are finite, over the blocks of a step, their mean and standard deviation, as
  /// the index has them. Returns -1 where it does not tell; of none `mean` and `deviation` stay.
  std::int64_t moments(const std::string& name, std::int64_t step, double& mean,
                       double& deviation) const;

  /// A box in the variable's type and C's order; null: all of it. A string: its text and a zero.
  void read(const std::string& name, std::int64_t step, const std::int64_t* start,
            const std::int64_t* count, void* data) const;
  void read_block(const std::string& name, std::int64_t step, std::int64_t number,
                  void* data) const;
  /// The same as read(), once perform_reads() has returned; what is wrong with it is told here, and
  /// then nothing is noted.
  void read_later(const std::string& name, std::int64_t step, const std::int64_t* start,
                  const std::int64_t* count, void* data);
  /// Collective, also for ranks that have noted nothing. Carries out what ranks have noted, and
  /// forgets it; an error of one rank is an error on all.
  void perform_reads() { file_->perform_reads(); }
  /// Collective. What was noted and not carried out is forgotten. The file's report, if one is
  /// wanted, says what was done.
  void close() { file_->close(); }
  const Report& report() const { return file_->report(); }

  /// Blocks that may have elements that a condition is true of, by the index: the first `most` of
  /// their steps and numbers, either null where not wanted. Returns how many there are.
  /// Errc::enotsupport: the file has no index of values.
  std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                    std::int64_t* blocks) const;

 private:
  /// Calls f(variable, box) where there are elements to read; text it gives itself.
  template <typename F>
  void with_box(const std::string& name, std::int64_t step, const std::int64_t* start,
                const std::int64_t* count, void* data, F&& f) const;
  std::size_t with_block(const std::string& name, std::int64_t step, std::int64_t number) const;

  std::unique_ptr<StoredGroup> file_;
};

}  // namespace forebay
