// Timers and counters of the steps for one file on one rank. They are cheap enough to be always on
// (two clock reads a step), and are printed at close if FOREBAY_REPORT is set
// (dataset/print_report.h). A report for programs has times of day as well (base/timeline.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/step.h"
#include "base/timeline.h"
#include "base/types.h"

namespace forebay {

enum class Counter {
  requests,
  pieces,
  bytes_asked_write,
  bytes_asked_read,
  write_calls,
  read_calls,
  bytes_written,
  bytes_read,
  messages,
  message_bytes,
  windows,
  chunks_encoded,
  chunks_decoded,
  chunks_raw,
  bytes_encoded,
  bytes_stored,
  writes_staged,
  bytes_staged,
  reads_served,
  flushes,
  count_
};
constexpr int counter_count = static_cast<int>(Counter::count_);
constexpr const char* counter_names[counter_count] = {
    "requests",     "pieces",         "bytes_asked_write", "bytes_asked_read", "write_calls",
    "read_calls",   "bytes_written",  "bytes_read",        "messages",         "message_bytes",
    "windows",      "chunks_encoded", "chunks_decoded",    "chunks_raw",       "bytes_encoded",
    "bytes_stored", "writes_staged",  "bytes_staged",      "reads_served",     "flushes"};

struct Report {
  std::array<double, step_count> seconds{};
  std::array<std::int64_t, counter_count> counters{};
  /// When each step took place; null if nobody asked for that.
  std::shared_ptr<Timeline> timeline;
  double inner = 0;  ///< seconds of the steps nested in the running one

  /// Returns an empty report for another thread. take_over() adds its times at the end.
  Report beside() const {
    Report other;
    if (timeline)
      other.timeline = std::make_shared<Timeline>(Timeline::least_limit, timeline->zero());
    return other;
  }
  void take_over(const Report& other) {
    for (std::size_t s = 0; s < seconds.size(); ++s) seconds[s] += other.seconds[s];
    if (!timeline || !other.timeline) return;
    for (const TimeSpan& span : other.timeline->spans()) timeline->add(span);
  }

  double& operator[](Step s) { return seconds[static_cast<std::size_t>(s)]; }
  std::int64_t& operator[](Counter c) { return counters[static_cast<std::size_t>(c)]; }
};

/// Returns the counter of what a step moves, if there is one.
constexpr std::optional<Counter> counter_of(Step step) {
  switch (step) {
    case Step::read:
    case Step::reload:
      return Counter::bytes_read;
    case Step::header:
    case Step::write:
      return Counter::bytes_written;
    case Step::exchange:
      return Counter::message_bytes;
    case Step::encode:
      return Counter::bytes_encoded;
    case Step::stage:
      return Counter::bytes_staged;
    default:
      return std::nullopt;
  }
}

/// Adds the time of a scope to a step. Only one thread at a time may use a report; scopes may nest.
class StepTimer {
 public:
  StepTimer(Report& report, Step step)
      : report_(report),
        step_(step),
        outer_(std::exchange(report.inner, 0.0)),
        moved_(report.timeline ? counted() : 0),
        start_(Clock::now()) {}
  ~StepTimer() {
    const auto end = Clock::now();
    const double seconds = std::chrono::duration<double>(end - start_).count();
    report_[step_] += seconds;
    if (report_.timeline) note(end, seconds - report_.inner);
    report_.inner = outer_ + seconds;
  }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  /// Sets how many bytes the step moved, if no counter of the report does.
  void moved(std::int64_t bytes) { moved_ = counted() - bytes; }

 private:
  using Clock = std::chrono::steady_clock;

  // The load is atomic because other threads may be counting.
  std::int64_t counted() const {
    const auto counter = counter_of(step_);
    if (!counter) return 0;
    return std::atomic_ref(report_[*counter]).load(std::memory_order_relaxed);
  }
  void note(Clock::time_point end, double busy) {
    const double to = report_.timeline->seconds_at(end),
                 from = report_.timeline->seconds_at(start_);
    report_.timeline->add({from, to, std::max(busy, 0.0), counted() - moved_, 1, step_});
  }

  Report& report_;
  Step step_;
  double outer_;        // seconds nested in the enclosing step so far
  std::int64_t moved_;  // the counter when the step began
  Clock::time_point start_;
};

}  // namespace forebay
