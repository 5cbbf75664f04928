// What a program reads of a file of groups, by name and step (A §III.B). The file says what is in
// it, whoever wrote it; declarations are not looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/group_type.h"
#include "base/report.h"
#include "comm/comm.h"
#include "layout/process_group/bp_reader.h"
#include "layout/process_group/pending_reads.h"
#include "method/method.h"
#include "transport/transport.h"

namespace forebay {

class GroupReader {
 public:
  /// Collective, with equal arguments. Errors as process_group::BpReader has them. `method`: its
  /// transport carries collective reads.
  GroupReader(const Comm& comm, const std::string& path, const Method& method = {});

  std::int64_t steps() const { return static_cast<std::int64_t>(file_.steps()); }
  int variables() const { return static_cast<int>(file_.variables().size()); }
  /// Errc::enotvar where there are not so many.
  const std::string& name(int number) const;

  // Local, from here on. Steps count from 0. Errors: Errc::enotvar, no such variable; einvalcoords,
  // no such step or block, or a step that does not have the variable; else as BpReader.

  GroupType type(const std::string& name) const;
  int dimensions(const std::string& name) const;
  /// Of all blocks together, as BpReader::array(), in C's order.
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

  /// A box in the variable's type and C's order; null: all of it. A string: its text and a zero.
  void read(const std::string& name, std::int64_t step, const std::int64_t* start,
            const std::int64_t* count, void* data) const;
  void read_block(const std::string& name, std::int64_t step, std::int64_t number,
                  void* data) const;
  /// The same as read(), once perform_reads() has returned; what is wrong with it is told here, and
  /// then nothing is noted.
  void read_later(const std::string& name, std::int64_t step, const std::int64_t* start,
                  const std::int64_t* count, void* data);
  /// Collective. See process_group::PendingReads::perform().
  void perform_reads();
  /// Collective. What was noted and not carried out is forgotten. The file's report, if one is
  /// wanted, says what was done.
  void close();
  const Report& report() const { return report_; }

  /// Blocks that may have elements that a condition is true of, by the index: the first `most` of
  /// their steps and numbers, either null where not wanted. Returns how many there are.
  std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                    std::int64_t* blocks) const;

 private:
  static std::size_t checked(std::int64_t step);
  const std::vector<bp::Block>& blocks_of(std::size_t variable, std::int64_t step) const;
  const bp::Block& block_of(std::size_t variable, std::int64_t step, std::int64_t number) const;

  /// Calls f(variable, box) where there are elements to read; what the index has it gives itself.
  template <typename F>
  void with_box(const std::string& name, std::int64_t step, const std::int64_t* start,
                const std::int64_t* count, void* data, F&& f) const;

  Comm comm_;
  Method method_;
  Report report_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  process_group::BpReader file_;
  process_group::PendingReads pending_;
  std::unique_ptr<Transport> transport_;   // of the data files, as one
  mutable std::vector<bp::Block> blocks_;  // of the variable and step asked for last
  mutable std::pair<std::size_t, std::int64_t> blocks_are_{-1, -1};
};

}  // namespace forebay
