// Counts what a store has done, for the report of FOREBAY_REPORT (docs/checkpoints.md).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/format/checkpoint.h"
#include "comm/comm.h"
#include "method/method.h"

namespace forebay::checkpoint {

/// Where a state is, the fastest first.
enum class Tier { memory, fast, directory };
constexpr std::size_t tier_count = 3;
constexpr const char* tier_names[tier_count] = {"memory", "fast", "dir"};

struct Account {
  enum Number {
    pushes,
    reads,
    drops,
    raw_bytes,     ///< of pushed states
    stored_bytes,  ///< the same, encoded
    in_memory,     ///< pushes that went there first, as for the next two
    in_fast,
    in_directory,
    moved_down,
    waits,          ///< how often the program waited for the thread
    decoded_ahead,  ///< reads whose state was decoded already
    push_ns,
    read_ns,
    wait_ns,
    advanced,    ///< steps, by the actions of forebay_schedule_next
    recomputed,  ///< steps of these that had run before
    turned,
    number_count
  };
  struct Read {
    StateId id;
    Tier pushed, read;  ///< tiers of the push and of the read
    Count bytes, raw_bytes;
  };
  static constexpr std::size_t most_told = 10'000;

  std::array<std::int64_t, number_count> numbers{};
  std::vector<Read> told;  ///< the first reads, at most most_told
  std::vector<std::string> reasons;
  Count furthest = 0;  ///< the latest state that the model has reached

  std::int64_t& operator[](Number n) { return numbers[static_cast<std::size_t>(n)]; }
  void note_advance(Count from, Count to);
  void note_reason(const std::string& reason);
};

/// Adds its lifetime to a number.
class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& ns) : ns_(ns) {}
  ~Stopwatch() {
    ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::int64_t& ns_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns a report for people. Numbers are sums over all ranks, times are those of the slowest
/// rank, and reasons and tiers are those of rank 0.
std::string account_text(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine);
/// Returns the same as one JSON object in one line.
std::string account_json(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine);

/// Collective. Prints the report that method.report names, which is equal on all ranks.
void print_account(const Comm& comm, const std::string& name, const Method& method,
                   const Account& mine);

}  // namespace forebay::checkpoint
