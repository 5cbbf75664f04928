// Where the time went: per-step timers and counters of one file on one rank. Cheap enough to be
// always on (two clock reads a step); printed at close when FOREBAY_REPORT asks (core/report).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "base/types.h"

namespace forebay {

enum class Step {
  define,
  header,
  post,
  plan,
  exchange,
  pack,
  read,
  write,
  wait,
  unpack,
  encode,
  decode,
  stage,
  reload,
  sync,
  total,
  count_
};
constexpr int step_count = static_cast<int>(Step::count_);
constexpr const char* step_names[step_count] = {
    "define", "header", "post",   "plan",   "exchange", "pack",   "read", "write",
    "wait",   "unpack", "encode", "decode", "stage",    "reload", "sync", "total"};

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

  double& operator[](Step s) { return seconds[static_cast<std::size_t>(s)]; }
  std::int64_t& operator[](Counter c) { return counters[static_cast<std::size_t>(c)]; }
};

/// Adds the time of a scope to a step.
class StepTimer {
 public:
  StepTimer(Report& report, Step step) : seconds_(report[step]), start_(Clock::now()) {}
  ~StepTimer() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_;
};

}  // namespace forebay
