// A thread without memory, for tests whose ranks are threads: one allocation of its own fails, or
// more of them. failing_memory_ranks_test.cc has the operators.
#pragma once

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOREBAY_FAILING_MEMORY 1

namespace forebay {

struct FailingMemory {
  bool armed = false;  ///< allocations count
  long left = -1;      ///< until one fails; negative: none does
  long every = 0;      ///< then one of so many; 0: no more
  bool has_failed = false;

  /// Of this thread.
  static FailingMemory& mine();
  void begin(long first, long then_every = 0) { *this = {false, first, then_every, false}; }

  /// While one lives, allocations of this thread count.
  class Armed {
   public:
    Armed() { mine().armed = true; }
    ~Armed() { mine().armed = false; }
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;
  };
};

}  // namespace forebay

#endif
