// Files of the classic model written as BP4 directories, so that bp_source.h reads them as they
// were.
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
#include "layout/process_group/step_writer.h"
#include "method/method.h"

namespace forebay {

/// What of a file has no word in BP: arrays without elements, and attributes.
std::vector<LeftOut> no_word_in_bp(const Source& source);

class BpWriter {
 public:
  /// Collective, with equal arguments. Makes the directory `path`, or replaces the BP file that it
  /// is, with the variables of `source` but those that are no_word_in_bp(). Of `method` counts what
  /// groups are written by. Errors as StepWriter::create, and Errc::enotsupport.
  BpWriter(const Comm& comm, const std::string& path, const Source& source, const Method& method);

  /// Local. A box of a variable, within one record, that of the step under way; of fixed variables
  /// in the first step. Its values, native, stay until flush() or end_step().
  void add(VarId var, const Subarray& box, std::span<const std::byte> values);
  /// Collective, as StepWriter's.
  void flush(const std::optional<Error>& failed) { writer_->flush(failed); }
  void end_step() { writer_->end_step(); }
  /// Collective. All is on the device; no other call follows.
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
