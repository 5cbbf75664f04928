// The last collective call of some ranks.
#pragma once

#include "comm/backend.h"

namespace forebay {

/// While it exists, this rank is in a call after which these ranks make no more, such as a close.
/// If others are in another call, all of them learn that, and every later reduction fails at once:
/// nobody waits for a rank that has gone.
class LastCall {
 public:
  explicit LastCall(const Comm& comm) : comm_(comm) { set(true); }
  ~LastCall() { set(false); }
  LastCall(const LastCall&) = delete;
  LastCall& operator=(const LastCall&) = delete;

 private:
  void set(bool is) {
    if (comm_.backend()) comm_.backend()->in_last_call = is;
  }
  Comm comm_;
};

}  // namespace forebay
