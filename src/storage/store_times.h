// How long the store that a file is on takes for a call at least, whatever its bytes: what all
// files of a folder have found out together. What a job of many files has learnt of the first it
// need not learn of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "base/byte_file.h"
#include "base/types.h"

namespace forebay {

/// Thread-safe.
class CallTimes {
 public:
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

  /// Calls that took `ns` at least, less a nanosecond a byte. The least counts, not the mean: a
  /// rank that others keep from its core waits without the store's doing.
  void note(std::int64_t ns, std::int64_t calls = 1) {
    std::int64_t known = least_.load(std::memory_order_relaxed);
    while (ns < known && !least_.compare_exchange_weak(known, ns, std::memory_order_relaxed)) {
    }
    calls_.fetch_add(calls, std::memory_order_relaxed);
  }
  /// Nanoseconds; `unknown` until there were ByteFile::few_timed calls.
  std::int64_t least() const { return is_settled() ? least_.load() : unknown; }
  /// The same, of however few.
  std::int64_t least_of_any() const { return least_.load(); }
  bool is_settled() const { return calls_.load() >= ByteFile::few_timed; }
  /// Whether it may still turn out that calls are slow.
  bool is_suspect() const { return !is_settled() && is_slow(least_.load()); }

 private:
  std::atomic<std::int64_t> calls_ = 0, least_ = unknown;
};

struct StoreTimes {
  CallTimes reads, writes;
  /// Of the file that was made there last, as Stripes has them; -1: none yet.
  std::atomic<Count> stripe_unit = -1;
  std::atomic<int> stripe_count = 0;

  /// Of the folder that a file is in; folders of data files beside a file count as that one.
  static std::shared_ptr<StoreTimes> of(const std::string& path);
};

}  // namespace forebay
