#include "layout/list_stream.h"

#include <algorithm>
#include <utility>

namespace forebay {

ListStream::ListStream(std::vector<Extent> extents) : extents_(std::move(extents)) {
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  for (const Extent& e : extents_) {
    if (summary_.pieces == 0) summary_.first = e.offset;
    summary_.last = std::max(summary_.last, e.end());
    summary_.bytes += e.length;
    ++summary_.pieces;
  }
}

std::size_t ListStream::next(std::span<Extent> out) {
  const std::size_t n = std::min(out.size(), extents_.size() - at_);
  std::copy_n(extents_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
  at_ += n;
  return n;
}

std::unique_ptr<ExtentStream> ListStream::clone() const {
  return std::make_unique<ListStream>(extents_);
}

}  // namespace forebay
