// A stream of extents from a list.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/extent.h"

namespace forebay {

/// Takes the extents in any order.
class ListStream : public ExtentStream {
 public:
  explicit ListStream(std::vector<Extent> extents);
  StreamSummary summary() const override { return summary_; }
  std::size_t next(std::span<Extent> out) override;
  void rewind() override { at_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override;

 private:
  std::vector<Extent> extents_;
  StreamSummary summary_;
  std::size_t at_ = 0;
};

}  // namespace forebay
