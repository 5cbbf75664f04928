// The least time that the store of a file takes for a call, whatever its bytes. All files of a
// folder find it out together, so that a job with many files need not measure each.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "base/byte_file.h"
#include "base/types.h"

namespace forebay {

/// Times of one kind of call. Thread-safe.
class CallTimes {
 public:
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

  /// Notes calls that took `ns` or more, less a nanosecond a byte. The least counts, not the mean:
  /// if other ranks keep this one from its core, it waits, but not for the store.
  void note(std::int64_t ns, std::int64_t calls = 1) {
    std::int64_t known = least_.load(std::memory_order_relaxed);
    while (ns < known && !least_.compare_exchange_weak(known, ns, std::memory_order_relaxed)) {
    }
    calls_.fetch_add(calls, std::memory_order_relaxed);
  }
  /// Returns nanoseconds; `unknown` until there were ByteFile::few_timed calls.
  std::int64_t least() const { return is_settled() ? least_.load() : unknown; }
  /// Returns the same after any number of calls.
  std::int64_t least_of_any() const { return least_.load(); }
  bool is_settled() const { return calls_.load() >= ByteFile::few_timed; }
  /// Returns whether it may still turn out that calls are slow.
  bool is_suspect() const { return !is_settled() && is_slow(least_.load()); }

 private:
  std::atomic<std::int64_t> calls_ = 0, least_ = unknown;
};

struct StoreTimes {
  CallTimes reads, writes;
  /// The Stripes of the file that was made there last; -1: none yet.
  std::atomic<Count> stripe_unit = -1;
  std::atomic<int> stripe_count = 0;

  /// Returns those of a file's folder. Folders of data files beside a file count as that folder.
  static std::shared_ptr<StoreTimes> of(const std::string& path);
};

}  // namespace forebay
