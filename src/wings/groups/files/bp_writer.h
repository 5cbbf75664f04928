// Writes files of the classic model as BP4 directories that bp_source.h reads as they were.
//
//     T(time, y, x)      T in every step, of shape y, x: a record is a step
//     P(y, x)            P in the first step
//     dimensions         attributes of the file and of variables (bp_attribute)
//     T:units            attribute T/units
//     text attributes    strings; characters where they are longer than a string may be
//     variables of text  arrays of characters
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "files/source.h"
#include "groups/process_group/step_writer.h"
#include "method/method.h"

namespace forebay {

/// Returns what BP cannot express of a file: arrays without elements, and attributes.
std::vector<LeftOut> no_word_in_bp(const Source& source);

class BpWriter {
 public:
  /// Collective, with equal arguments. Makes the directory `path`, or replaces the BP file there.
  /// It gets the variables of `source`, except those in no_word_in_bp(). `method` says how groups
  /// are written. Errors are those of StepWriter::create, and Errc::enotsupport.
  BpWriter(const Comm& comm, const std::string& path, const Source& source, const Method& method);

  /// Local. Adds a box of a variable, within one record, which must be that of the current step.
  /// Fixed variables belong to the first step. `values` are native, and must stay until flush() or
  /// end_step().
  void add(VarId var, const Subarray& box, std::span<const std::byte> values);
  /// Collective, like StepWriter's.
  void flush(const std::optional<Error>& failed) { writer_->flush(failed); }
  void end_step() { writer_->end_step(); }
  /// Collective. Writes everything to the device. No other call may follow.
  void close();

 private:
  struct Stored {
    bp::Variable variable;
    std::vector<Count> shape;  // of a record
    bool is_record = false;
  };
  void define(const Source& source);
  void define_dimensions(const Schema& schema);
  void define_variable(const Source& source, VarId id);
  void put_attributes(const std::string& owner, const AttributeList& list);

  Comm comm_;
  std::string path_;
  Method method_;
  Report report_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::unique_ptr<process_group::StepWriter> writer_;
  std::vector<Stored> stored_;
};

}  // namespace forebay
