// The part of a stream within a range of the file, up to a deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "base/extent.h"

namespace forebay {

class StreamBetween : public ExtentStream {
 public:
  using Clock = std::chrono::steady_clock;

  /// Gives what lies in [begin, end) of the extents. It ends after `deadline`, but not before its
  /// first extents.
  StreamBetween(const ExtentStream& extents, Offset begin, Offset end,
                Clock::time_point deadline = Clock::time_point::max())
      : whole_(extents.clone()), begin_(begin), end_(end), deadline_(deadline) {}

  /// Returns that of the whole stream, except for the bounds, which may be too wide.
  StreamSummary summary() const override {
    StreamSummary s = whole_->summary();
    s.first = std::max(s.first, begin_);
    s.last = std::min(s.last, end_);
    return s.first < s.last ? s : StreamSummary{};
  }

  std::size_t next(std::span<Extent> out) override {
    const bool hurries = deadline_ != Clock::time_point::max();
    if (hurries) out = out.first(std::min(out.size(), few));
    while (!over_) {
      if (hurries && began_ && Clock::now() >= deadline_) {
        over_ = is_late_ = true;
        return 0;
      }
      const std::size_t n = whole_->next(out);
      over_ = n == 0;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < n && !over_; ++i) {
        Extent e = out[i];
        over_ = e.offset >= end_;
        if (over_ || e.end() <= begin_) continue;
        const Count before = std::max<Count>(begin_ - e.offset, 0);
        e.offset += before;
        e.skip += before;
        e.length = std::min(e.length - before, end_ - e.offset);
        out[kept++] = e;
      }
      began_ = began_ || kept > 0;
      if (kept > 0) return kept;
    }
    return 0;
  }

  void rewind() override {
    whole_->rewind();
    over_ = began_ = is_late_ = false;
  }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<StreamBetween>(*whole_, begin_, end_, deadline_);
  }

  /// Returns whether the deadline has ended it: there may have been more.
  bool is_late() const { return is_late_; }

 private:
  static constexpr std::size_t few = 4;  // between two looks at the clock

  std::unique_ptr<ExtentStream> whole_;
  Offset begin_, end_;
  Clock::time_point deadline_;
  bool over_ = false, began_ = false, is_late_ = false;
};

}  // namespace forebay
