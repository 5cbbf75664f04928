// Another form in which a file that is open for reading shows itself, if hints ask for one: its
// schema, and reads that are turned into reads of the file. A layout brings it in its LayoutEntry.
#pragma once

#include <string>

#include "array/request.h"
#include "array/schema.h"
#include "method/method.h"

namespace forebay {

class FileView {
 public:
  virtual ~FileView() = default;

  virtual const Schema& schema() const = 0;
  virtual void set_records(Count n) = 0;
  virtual std::string reason() const = 0;  ///< for the report
  /// Turns a read of the view into a read of the file.
  virtual void translate(Request& request) const = 0;
};

}  // namespace forebay
