#include "layout/canonical/flattened.h"

#include <algorithm>
#include <array>

#include "layout/canonical/canonical.h"

namespace forebay {

namespace {

template <typename Stream>
void append_all(Stream& stream, std::vector<Extent>& extents) {
  std::array<Extent, 256> some;
  while (const std::size_t n = stream.next(some))
    extents.insert(extents.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

std::vector<Extent> flattened(std::span<const Request> requests, const Schema& schema) {
  std::vector<Extent> extents;
  for (const Request& request : requests) {
    RequestCursor cursor(request, schema);
    append_all(cursor, extents);
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  const auto meet = [](const Extent& a, const Extent& b) { return a.end() > b.offset; };
  if (std::adjacent_find(extents.begin(), extents.end(), meet) == extents.end()) return extents;
  // What overlaps is cut as two-level reordering cuts it.
  extents.clear();
  CanonicalStream stream(requests, schema, true);
  append_all(stream, extents);
  return extents;
}

FlattenedStream::FlattenedStream(std::span<const Request> requests, const Schema& schema)
    : extents_(std::make_shared<const std::vector<Extent>>(flattened(requests, schema))) {
  if (extents_->empty()) return;
  summary_.first = extents_->front().offset;
  summary_.last = extents_->back().end();
  summary_.pieces = static_cast<Count>(extents_->size());
  for (const Extent& e : *extents_) summary_.bytes += e.length;
}

std::size_t FlattenedStream::next(std::span<Extent> out) {
  const std::size_t n = std::min(out.size(), extents_->size() - at_);
  std::copy_n(extents_->begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
  at_ += n;
  return n;
}

std::unique_ptr<ExtentStream> FlattenedStream::clone() const {
  auto copy = std::make_unique<FlattenedStream>(*this);
  copy->at_ = 0;
  return copy;
}

}  // namespace forebay
