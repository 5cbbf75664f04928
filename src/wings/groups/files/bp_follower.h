// Follows a BP file step by step, for the command and Python, also while it is written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/selection.h"
#include "base/report.h"
#include "comm/comm.h"
#include "files/source.h"
#include "groups/process_group/bp_reader.h"

namespace forebay {

class BpFollower {
 public:
  using StepStatus = process_group::StepStatus;

  /// A variable as one step has it.
  struct Variable {
    std::size_t number = 0;  ///< in reader().variables()
    bp::Variable stored;
    std::vector<Count> shape;  ///< of all blocks together; empty: one value
  };

  /// Local. Returns whether there is a file that can be opened, whole or with further steps to
  /// come. A BP4 directory without the beginning of its index is none yet.
  static bool has_begun(const std::string& path);
  /// Collective. Waits at most `seconds` of rank 0 until has_begun(); rank 0 looks. Errc::enoent:
  /// there is none. Other errors are those of BpReader.
  BpFollower(const Comm& comm, const std::string& path, double seconds);

  /// Collective, as GroupReader::begin_step().
  StepStatus begin_step(double seconds, std::size_t& step);

  // All functions from here on are local, for steps that were begun.

  const process_group::BpReader& reader() const { return reader_; }
  /// Returns the variables of a step in the order of the file. `left_out` gets those that cannot be
  /// read, or that netCDF and NumPy have no word for.
  std::vector<Variable> variables(std::size_t step, std::vector<LeftOut>& left_out) const;
  /// Reads a box of numbers, complex numbers or characters, in C's order. Elements that no rank
  /// wrote get netCDF's fill value.
  void read(const Variable& variable, std::size_t step, const Subarray& box, std::byte* out) const;

 private:
  static const std::string& begun(const Comm& comm, const std::string& path, double seconds);

  Comm comm_;
  Report report_;
  process_group::BpReader reader_;
  std::size_t next_ = 0;
};

}  // namespace forebay
