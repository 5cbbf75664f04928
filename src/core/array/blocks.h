// Boxes into which a variable is cut to read, write or compare it in parts.
#pragma once

#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

/// Cuts a variable into boxes in row-major order, of at most `most_bytes` each (but at least one
/// chunk). Boxes of a chunked variable consist of whole chunks, so that no chunk is decoded twice.
/// `in_order`: each box is a run of the variable's row-major order.
class Blocks {
 public:
  Blocks(const Variable& var, const std::vector<Count>& shape, Count most_bytes,
         bool in_order = false);
  /// `chunk` is empty if there are no chunks. `width` is the bytes of an element.
  Blocks(const std::vector<Count>& shape, const std::vector<Count>& chunk, Count width,
         Count most_bytes, bool in_order = false);

  Count size() const { return boxes_; }
  Subarray operator[](Count box) const;

 private:
  std::vector<Count> shape_, extent_, grid_;
  Count boxes_ = 1;
};

}  // namespace forebay
