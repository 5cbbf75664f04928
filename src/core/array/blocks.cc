#include "array/blocks.h"

#include <algorithm>

namespace forebay {

Blocks::Blocks(const Variable& var, const std::vector<Count>& shape, Count most_bytes,
               bool in_order)
    : Blocks(shape, var.chunking ? var.chunking->shape : std::vector<Count>{}, size_of(var.type),
             most_bytes, in_order) {}

Blocks::Blocks(const std::vector<Count>& shape, const std::vector<Count>& chunk, Count width,
               Count most_bytes, bool in_order)
    : shape_(shape), extent_(shape.size(), 1), grid_(shape.size(), 1) {
  const std::size_t n = shape.size();
  std::vector<Count> unit(n, 1);
  if (chunk.size() == n) unit = chunk;
  for (std::size_t d = 0; d < n; ++d)
    unit[d] = std::clamp<Count>(unit[d], 1, std::max<Count>(shape[d], 1));
  if (in_order) {  // only the first dimension that is cut may have chunks
    std::size_t cut = 0;
    Count inner = width;
    for (std::size_t d = n; d-- > 0;) {
      if (!multiply_fits(inner, std::max<Count>(shape[d], 1), inner) || inner > most_bytes) {
        cut = d;
        break;
      }
    }
    for (std::size_t d = 0; d < cut; ++d) unit[d] = 1;
    for (std::size_t d = cut + 1; d < n; ++d) unit[d] = std::max<Count>(shape[d], 1);
  }
  Count bytes = width;
  for (const Count u : unit)
    if (!multiply_fits(bytes, u, bytes)) bytes = most_bytes;
  if (in_order && bytes > most_bytes && n > 0) {  // rows of chunks that exceed the limit
    for (std::size_t d = 0; d < n; ++d) {
      if (unit[d] == std::max<Count>(shape[d], 1)) continue;
      bytes /= unit[d];
      unit[d] = 1;
    }
  }
  extent_ = unit;
  for (std::size_t d = n; d-- > 0;) {
    const Count units = std::max<Count>(1, (shape[d] + unit[d] - 1) / unit[d]);
    const Count fit = std::clamp<Count>(most_bytes / std::max<Count>(bytes, 1), 1, units);
    extent_[d] = std::min(std::max<Count>(shape[d], 1), unit[d] * fit);
    bytes *= fit;
    if (fit < units) break;
  }
  for (std::size_t d = 0; d < n; ++d) {
    grid_[d] = (shape[d] + extent_[d] - 1) / extent_[d];
    boxes_ *= grid_[d];
  }
}

Subarray Blocks::operator[](Count box) const {
  Subarray part;
  part.start.resize(shape_.size());
  part.count.resize(shape_.size());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    part.start[d] = box % grid_[d] * extent_[d];
    part.count[d] = std::min(extent_[d], shape_[d] - part.start[d]);
    box /= grid_[d];
  }
  return part;
}

}  // namespace forebay
