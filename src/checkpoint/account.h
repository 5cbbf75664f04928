// What a store has done, for the report that FOREBAY_REPORT asks for (docs/checkpoints.md).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "format/checkpoint.h"
#include "method/method.h"

namespace forebay::checkpoint {

/// Where a state is, the quickest first.
enum class Tier { memory, fast, directory };
constexpr const char* tier_names[] = {"memory", "fast", "dir"};

struct Account {
  enum Number {
    pushes,
    reads,
    drops,
    raw_bytes,     ///< of what was pushed
    stored_bytes,  ///< the same, encoded
    in_memory,     ///< pushes that went there first
    in_fast,
    in_directory,
    moved_down,
    waits,          ///< of the program, for the thread
    decoded_ahead,  ///< reads that found their state decoded
    push_ns,
    read_ns,
    wait_ns,
    advanced,    ///< steps, as forebay_schedule_next told
    recomputed,  ///< those among them that had run before
    turned,
    number_count
  };
  struct Read {
    StateId id;
    Tier pushed, read;  ///< the tiers that it went to, and came from
    Count bytes, raw_bytes;
  };
  static constexpr std::size_t most_told = 10'000;

  std::array<std::int64_t, number_count> numbers{};
  std::vector<Read> told;  ///< of reads, the first ones
  std::vector<std::string> reasons;
  Count furthest = 0;  ///< state that the model has reached

  std::int64_t& operator[](Number n) { return numbers[static_cast<std::size_t>(n)]; }
  void note_advance(Count from, Count to);
  void note_reason(const std::string& reason);
};

/// Adds the time that it lives to a number.
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

/// For people; of all ranks together, but for times, which are those of the slowest, and reasons
/// and tiers, which are rank 0's.
std::string account_text(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine);
/// One JSON object in one line.
std::string account_json(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine);

/// Collective. Prints what method.report asks for, which is the same on all ranks.
void print_account(const Comm& comm, const std::string& name, const Method& method,
                   const Account& mine);

}  // namespace forebay::checkpoint
