// Flatten everything, then sort: how a library does it that logs offsets and lengths (Hou 2023,
// §3.3.5 compares with one). Here to compare with two-level reordering (plan/order.h), which makes
// no list.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/extent.h"

namespace forebay {

/// All extents of the requests in one list, by offset; where written ones overlap the later request
/// has won. Memory: 40 bytes an extent.
std::vector<Extent> flattened(std::span<const Request> requests, const Schema& schema);

/// A stream of them.
class FlattenedStream : public ExtentStream {
 public:
  FlattenedStream(std::span<const Request> requests, const Schema& schema);

  StreamSummary summary() const override { return summary_; }
  std::size_t next(std::span<Extent> out) override;
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override;

 private:
  std::shared_ptr<const std::vector<Extent>> extents_;
  StreamSummary summary_;
  std::size_t at_ = 0;
};

}  // namespace forebay
