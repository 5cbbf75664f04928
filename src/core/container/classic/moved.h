// Counts the bytes that redefinitions moved, for the report, and says which arguments of
// ncmpi__enddef would have avoided it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/types.h"
#include "container/container.h"

namespace forebay {

class Moved {
 public:
  /// Notes that definitions with a header of this size were placed. Only the first ones since the
  /// file was created or opened could have left room.
  void placed(Offset header_size) {
    if (!first_header_) first_header_ = header_size;
  }
  /// Notes a move of `bytes`. `before`, `now`: as stored. `asked`: by this call of ncmpi__enddef.
  void add(const Schema& before, const Schema& now, Count bytes, const EnddefArguments& asked);
  std::vector<std::string> reasons() const;

 private:
  std::optional<Offset> first_header_;
  Count by_header_ = 0, by_variables_ = 0, by_records_ = 0, as_asked_ = 0;
  Count h_minfree_ = 0, v_minfree_ = 0;
};

}  // namespace forebay
