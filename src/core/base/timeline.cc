#include "base/timeline.h"

#include <algorithm>

namespace forebay {
namespace {

constexpr double least_gap = 1e-6;

}  // namespace

Timeline::Timeline(std::size_t limit, Clock::time_point zero) : zero_(zero), limit_(limit) {
  spans_.reserve(limit);
  latest_.fill(-1);
}

// Joins a span to the latest span of its step, if the gap allows. Returns whether it did.
bool Timeline::joins(const TimeSpan& span) {
  const std::ptrdiff_t at = latest_[static_cast<std::size_t>(span.step)];
  if (at < 0) return false;
  TimeSpan& latest = spans_[static_cast<std::size_t>(at)];
  if (span.begin - latest.end > gap_) return false;
  latest.begin = std::min(latest.begin, span.begin);
  latest.end = std::max(latest.end, span.end);
  latest.busy += span.busy;
  latest.bytes += span.bytes;
  latest.times += span.times;
  return true;
}

void Timeline::add(const TimeSpan& span) {
  if (joins(span)) return;
  if (spans_.size() >= limit_) {
    join();
    if (joins(span)) return;
  }
  latest_[static_cast<std::size_t>(span.step)] = static_cast<std::ptrdiff_t>(spans_.size());
  spans_.push_back(span);
}

void Timeline::join() {
  while (spans_.size() > limit_ / 2) {
    gap_ = std::max(2 * gap_, least_gap);
    latest_.fill(-1);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const TimeSpan span = spans_[i];
      if (joins(span)) continue;
      latest_[static_cast<std::size_t>(span.step)] = static_cast<std::ptrdiff_t>(kept);
      spans_[kept++] = span;
    }
    spans_.resize(kept);
  }
}

}  // namespace forebay
