// The view of a file that `read_level=k` gives: the file at that level, read only
// (coarse_schema.h).
#pragma once

#include <memory>
#include <string>

#include "array/request.h"
#include "layout/file_view.h"
#include "method/method.h"
#include "patches/coarse_schema.h"

namespace forebay {

class CoarseView final : public FileView {
 public:
  /// Returns null if the method asks for no coarser level, or if no variable of the file has one.
  /// Errc::einval: no variable has that level. Errc::eperm: the file is open for writing.
  static std::unique_ptr<FileView> of(const Schema& file, const Method& method, bool writable);

  const Schema& schema() const override { return coarse_.schema; }
  std::string reason() const override;
  void set_records(Count n) override { coarse_.schema.numrecs = n; }
  void translate(Request& request) const override;

 private:
  CoarseView(const Schema& file, CoarseSchema coarse, int level)
      : file_(file), coarse_(std::move(coarse)), level_(level) {}

  const Schema& file_;
  CoarseSchema coarse_;
  int level_;
};

}  // namespace forebay
