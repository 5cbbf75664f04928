// The same program again and again while one allocation after another fails on one rank: what
// programs on several interfaces share. No rank may hang or crash.
#pragma once

#include <functional>

#include "fault/allocations.h"

namespace no_memory {

extern int rank, size;
extern bool telling;  ///< one case is played alone

/// One run of the program: which rank fails, the first allocation that does, and every which one
/// behind it does, too (0: none). `rank` -1, or `first` 0: none fails.
struct Case {
  int rank = -1;
  long first = 0, every = 0;
};

/// Ends the job, telling of the case.
[[noreturn]] void fail(const char* what);
/// Collective. Whether it holds on all ranks.
bool of_all(bool holds);

/// Steps of a case on this rank; numbers of allocations go on from one to the next.
class Steps {
 public:
  /// Calls f(), with allocations failing if this is the rank and it `fails`; returns what f() does.
  template <typename F>
  auto call(const char* step, bool fails, F&& f) {
    begin(step, fails);
    const auto result = f();
    end();
    return result;
  }
  /// Adds to the history of the case.
  void note(const char* step, long outcome);
  /// Whether steps succeed, as none fails in this case (any more).
  bool must_succeed() const;
  /// From now on nothing fails.
  void disarm() { armed_ = false; }
  long allocations() const { return count_; }

 private:
  void begin(const char* step, bool fails);
  void end();
  long next_failure() const;

  bool armed_ = true, counting_ = false;
  long count_ = 0;
};

/// What a program does: plays one case on a file whose folder is empty.
using Play = std::function<void(const char* file, Steps& steps)>;

/// The program, between MPI_Init and MPI_Finalize:
///
///     PROGRAM FILE [--seconds N] [--seed N] [--rank R --first K --every E] [--threads 0]
///
/// The seconds are shared among ranks that fail and numbers of allocations, which are drawn at
/// random where there is no time for all of them; without FOREBAY_TEST_FULL it is a fifth of the
/// time. With --rank, that one case alone, told step by
/// step. With --threads 0, all have memory, and no thread can be started: then all succeeds.
/// Returns the exit code.
int run(int argc, char** argv, const char* name, const Play& play);

}  // namespace no_memory
