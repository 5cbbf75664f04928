// The view of a file that `read_level=k` gives: the file at that level, read only
// (array/coarse_schema.h).
#pragma once

#include <memory>
#include <string>

#include "array/coarse_schema.h"
#include "array/request.h"
#include "method/method.h"

namespace forebay {

/// Returns how many coarser levels a variable has (Request::level): 0 unless it is in patches.
int coarser_levels(const Variable& var);

class CoarseView {
 public:
  /// Returns null if the method asks for no coarser level, or if no variable of the file has one.
  /// Errc::einval: no variable has that level. Errc::eperm: the file is open for writing.
  static std::unique_ptr<CoarseView> of(const Schema& file, const Method& method, bool writable);

  const Schema& schema() const { return coarse_.schema; }
  std::string reason() const;  ///< for the report
  void set_records(Count n) { coarse_.schema.numrecs = n; }
  /// Turns a read of the view into a read of the file.
  void translate(Request& request) const;

 private:
  CoarseView(const Schema& file, CoarseSchema coarse, int level)
      : file_(file), coarse_(std::move(coarse)), level_(level) {}

  const Schema& file_;
  CoarseSchema coarse_;
  int level_;
};

}  // namespace forebay
