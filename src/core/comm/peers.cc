#include "comm/peers.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/attempt.h"
#include "comm/yield_or_sleep.h"

namespace forebay {

#ifdef __linux__

namespace {

// No other process has had this number since the system started: it consists of the time when the
// process began, in the system's ticks, and its id, which has at most 22 bits.
constexpr int id_bits = 22;

constexpr std::int64_t unknown = -1;

/// Returns 0 if no such process runs; `unknown` if this process cannot look, because it has no
/// descriptor left. Needs no memory.
std::int64_t process_of(std::int64_t id) {
  char path[32], text[1024];
  std::snprintf(path, sizeof path, "/proc/%lld/stat", static_cast<long long>(id));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const auto none = [] { return errno == ENOENT || errno == ESRCH ? 0 : unknown; };
  if (fd < 0) return none();
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  if (size <= 0) {
    const std::int64_t result = size < 0 ? none() : unknown;
    ::close(fd);
    return result;
  }
  ::close(fd);
  text[size] = '\0';
  // "id (name) state ...": the name may hold anything, and the start is the 20th word after it.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int word = 0; word < 20 && at != nullptr; ++word) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::atoll(at) << id_bits | id;
}

std::int64_t id_of(std::int64_t process) { return process & ((std::int64_t{1} << id_bits) - 1); }

}  // namespace

Peers::Peers(const Comm& node) : node_(node) {
  if (node.size() == 1) return;
  const std::int64_t me = process_of(::getpid());
  const auto all = node.all_gather(me);
  // Without memory for the list, or a view of a rank's process (a container of its own), fewer
  // processes are watched.
  attempt_to([&] {
    for (const std::int64_t process : all)
      if (process > 0 && process != me && process_of(id_of(process)) == process)
        watched_.push_back(process);
  });
  if (!watched_.empty()) next_ = static_cast<std::size_t>(node.rank()) % watched_.size();
}

// The ranks of a node begin with different processes, so that some rank finds a dead one soon.
void Peers::look_after_them(const std::atomic<std::uint32_t>* word, std::uint32_t seen) {
  constexpr std::size_t some = 8;
  for (std::size_t i = 0; i < std::min(some, watched_.size()); ++i) {
    const std::int64_t process = watched_[next_];
    next_ = (next_ + 1) % watched_.size();
    const std::int64_t now = process_of(id_of(process));
    if (now == process || now == unknown) continue;
    if (word != nullptr && word->load() != seen) return;  // it changed the word before it ended
    std::fprintf(stderr, "forebay: process %lld, a rank of this job, has died; ending the job\n",
                 static_cast<long long>(id_of(process)));
    node_.end_job();
  }
}

void Peers::sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  const timespec while_all_is_well{1, 0};
  if (::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &while_all_is_well, nullptr, 0) != 0 &&
      errno == ETIMEDOUT) {
    look_after_them(&word, seen);
  }
}

void Peers::rest(int idle, std::atomic<std::uint32_t>* word, std::uint32_t seen, int many) {
  constexpr int soon = 100;
  const timespec a_moment{0, 20'000L * std::clamp(idle - soon, 1, many)};
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (now.tv_sec != std::exchange(looked_at_, now.tv_sec)) look_after_them(word, seen);
  // A sleep on the word ends as soon as the rank is woken.
  const bool sleeps = word != nullptr && crowded_turns > 0;
  if (sleeps) --crowded_turns;
  if (idle < soon && !sleeps) {
    yield_or_sleep();
  } else if (word != nullptr) {
    ::syscall(SYS_futex, word, FUTEX_WAIT, seen, &a_moment, nullptr, 0);
  } else {
    ::nanosleep(&a_moment, nullptr);
  }
}

void Peers::wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Peers::wake_one(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

#else

Peers::Peers(const Comm& node) : node_(node) {}
void Peers::look_after_them(const std::atomic<std::uint32_t>*, std::uint32_t) {}
void Peers::sleep_on(std::atomic<std::uint32_t>&, std::uint32_t) { ::sched_yield(); }
void Peers::rest(int, std::atomic<std::uint32_t>*, std::uint32_t, int) { ::sched_yield(); }
void Peers::wake(std::atomic<std::uint32_t>&) {}
void Peers::wake_one(std::atomic<std::uint32_t>&) {}

#endif

}  // namespace forebay
