// A timeline records when the steps of a file took place on one rank.
//
// A span is a stretch of time in which one step ran, once or several times. There are at most
// `limit` spans. When the limit is reached, spans of the same step are joined over the shortest
// gaps until half as many are left, and later spans are joined over such gaps at once. A joined
// span keeps how long the step was busy, so no time is lost. Memory is allocated once. Adding costs
// a few instructions; joining costs some passes over the list for every limit / 2 spans.
//
// Spans overlap where steps nest (the outer one's `busy` excludes the inner ones), where spans were
// joined, and where another thread writes in the background.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/step.h"

namespace forebay {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct TimeSpan {
  double begin = 0, end = 0;  ///< seconds since the file was opened
  double busy = 0;            ///< seconds in which the step ran
  std::int64_t bytes = 0;     ///< bytes that it moved; 0 if they are not counted
  std::int32_t times = 1;     ///< how often it ran
  Step step = Step::total;
};

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t least_limit = 2 * step_count;

  /// `limit` is at least least_limit, or at least the number of spans that will ever be added.
  explicit Timeline(std::size_t limit, Clock::time_point zero = Clock::now());

  Clock::time_point zero() const { return zero_; }
  double seconds_at(Clock::time_point time) const {
    return std::chrono::duration<double>(time - zero_).count();
  }

  /// Adds a span. Spans of one step are added in the order in which they end.
  void add(const TimeSpan& span);
  std::span<const TimeSpan> spans() const { return spans_; }

 private:
  void join();
  bool joins(const TimeSpan& span);

  Clock::time_point zero_;
  std::size_t limit_;
  std::vector<TimeSpan> spans_;
  std::array<std::ptrdiff_t, step_count> latest_;  // index of the last span of each step; -1: none
  double gap_ = 0;                                 // seconds over which spans of a step are joined
};

}  // namespace forebay
