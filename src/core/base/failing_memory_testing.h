// Makes allocations of one thread fail, for tests whose ranks are threads. The operators are in
// failing_memory_ranks_test.cc.
#pragma once

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOREBAY_FAILING_MEMORY 1

namespace forebay {

struct FailingMemory {
  bool armed = false;  ///< allocations are counted
  long left = -1;      ///< allocations until one fails; negative: none fails
  long every = 0;      ///< then every n-th one fails; 0: no more
  bool has_failed = false;

  /// Returns the object of this thread.
  static FailingMemory& mine();
  void begin(long first, long then_every = 0) { *this = {false, first, then_every, false}; }

  /// While an object exists, allocations of this thread count.
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
