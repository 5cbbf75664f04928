// Boxes into which a variable is cut to read, write or compare it in parts.
#pragma once

#include <algorithm>
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

/// Calls f with each index of a box, relative to its start, in row-major order.
template <typename F>
void each_index(const std::vector<Count>& count, F&& f) {
  if (std::find(count.begin(), count.end(), 0) != count.end()) return;
  std::vector<Count> index(count.size(), 0);
  for (;;) {
    f(index);
    std::size_t d = count.size();
    for (; d > 0 && ++index[d - 1] == count[d - 1]; --d) index[d - 1] = 0;
    if (d == 0) return;
  }
}

/// Returns the number of an element, or of a row if `index` lacks the last dimension, in row-major
/// order.
template <typename Shape, typename Index>
Count flat_index(const Shape& shape, const Index& index) {
  Count at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

}  // namespace forebay
