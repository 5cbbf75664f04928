#include "comm/left_open.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include "base/attempt.h"
#include "base/running_calls.h"
#include "comm/backend.h"
#include "comm/session.h"
#include "comm/yield_or_sleep.h"

namespace forebay {

struct LeftOpen::List {
  std::mutex mutex;
  LeftOpen *first = nullptr, *last = nullptr;
};

/// The list is never destroyed: objects left at exit may outlive everything else.
LeftOpen::List& LeftOpen::list() {
  static auto* all = new List;
  return *all;
}

LeftOpen::LeftOpen(Turn turn) : turn_(turn), process_(::getpid()) {
  List& all = list();
  const std::lock_guard lock(all.mutex);
  at_the_end(end_all);
  before_ = all.last;
  (before_ ? before_->behind_ : all.first) = this;
  all.last = this;
}

LeftOpen::~LeftOpen() {
  List& all = list();
  const std::lock_guard lock(all.mutex);
  (before_ ? before_->behind_ : all.first) = behind_;
  (behind_ ? behind_->before_ : all.last) = before_;
}

LeftOpen* LeftOpen::next(Turn turn) {
  List& all = list();
  const std::lock_guard lock(all.mutex);
  for (LeftOpen* one = all.first; one; one = one->behind_) {
    if (one->turn_ != turn || one->ended_ || one->process_ != ::getpid()) continue;
    one->ended_ = true;
    return one;
  }
  return nullptr;
}

std::string LeftOpen::if_not_ended() const {
  return "what had not been written yet is not in it (close files before a program exits, or "
         "choose "
         "stage=direct)";
}

namespace {

using Clock = std::chrono::steady_clock;

/// Local. Waits until is_true() or the time is over. Asks at least once.
bool comes_true(const std::function<bool()>& is_true, Clock::time_point until) {
  while (!is_true()) {
    if (Clock::now() >= until) return false;
    yield_or_sleep();
  }
  return true;
}

void say(const std::string& name, const std::string& message) {
  std::fprintf(stderr, "forebay: %s was open when the program ended: %s\n", name.c_str(),
               message.c_str());
}

/// Returns why a handler of exit() must not end anything; empty if it may.
std::string why_not_now() {
  constexpr std::chrono::seconds patience(1);
  if (CallsHeldOff::is_in_call()) return "the program exited in a call";
  if (!CallsHeldOff::all_end_within(patience))
    return "the program exited as another thread was in a call";
  if (!this_thread_may_talk())
    return "a thread exited that must not call MPI (see MPI_THREAD_MULTIPLE)";
  return {};
}

constexpr std::chrono::seconds patience_with_ranks(5);  // in all, not for each file

Clock::time_point deadline() {
  static const auto until = Clock::now() + patience_with_ranks;
  return until;
}

}  // namespace

template <typename F>
void LeftOpen::each(F&& f) {
  List& all = list();
  // If this thread or a waiting one holds the lock, nothing can be known.
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock) return;
  for (LeftOpen* one = all.first; one; one = one->behind_)
    if (!one->ended_ && one->process_ == ::getpid()) attempt_to([&] { f(*one); });
}

void LeftOpen::name_all(const std::string& why) {
  each([&](LeftOpen& one) {
    one.ended_ = true;
    if (one.would_lose()) say(one.its_name(), why + ": " + one.if_not_ended());
  });
}

void LeftOpen::end_all(bool ranks_are_there) {
  const CallsHeldOff others_wait;
  if (!ranks_are_there) {
    if (const std::string why = why_not_now(); !why.empty()) return name_all(why);
    // All are announced before the first is waited for. They share one time limit.
    each([](LeftOpen& one) {
      if (one.its_ranks().size() > 1 && one.would_lose())
        one.all_have_come_ = one.its_ranks().backend()->come();
    });
  }
  for (const Turn turn : {Turn::owner, Turn::file})
    while (LeftOpen* const one = next(turn)) one->end_or_tell(ranks_are_there);
}

void LeftOpen::end_or_tell(bool ranks_are_there) {
  const Comm comm = its_ranks();
  std::string name;
  attempt_to([&] { name = its_name(); });
  if (!ranks_are_there && comm.size() > 1) {
    if (!all_have_come_) return;
    if (!comes_true(all_have_come_, deadline())) {
      attempt_to([&] {
        say(name, "rank " + std::to_string(comm.rank()) +
                      " exited without MPI_Finalize, and not all of its other ranks did within " +
                      std::to_string(patience_with_ranks.count()) + " seconds: " + if_not_ended());
      });
      return;
    }
  }
  const auto failed = attempt_to([&] { end(); });
  if (!failed) return;
  // All ranks have failed. One prints the error; if possible, one that knows more than that another
  // rank failed. Each rank prints it if some were in a call of the program, such as a close.
  const std::int64_t mine = (failed->is_of_others() ? comm.size() : 0) + comm.rank();
  std::int64_t teller = mine;
  attempt_to([&] {
    if (comm.size() > 1 &&
        comes_true(comm.backend()->come(), Clock::now() + std::chrono::seconds(1)))
      teller = comm.all_reduce(mine, Reduce::min);
  });
  if (teller == mine) say(name, failed->message());
}

}  // namespace forebay
