// Agreement on errors: a collective step ends with the same outcome on every rank.
//
// A rank that fails somewhere between two meetings cannot know what the others wait for next. It
// need not: it comes to their next meeting, whatever that is for, and tells of its error there;
// they throw out of the call that they are in (comm/comm.h). `together` does that. It stands around
// whatever ranks do collectively, in the functions that users call, and around each part of it
// whose failure is dealt with within them.
//
// Two rules make it work. Where ranks wait for each other otherwise than in a meeting (in memory
// that a node shares, in messages, in MPI's own files), no step may be left out: there errors are
// kept (`attempt_to`) and told behind it. And whoever catches an exception around collective calls
// has to let the others know, by one of the functions below; a plain `attempt_to` around them is
// for what all ranks do until the end in any case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/attempt.h"
#include "comm/comm.h"

namespace forebay {

/// What a rank throws for another one's error.
inline Error error_of_others(
    std::int64_t code,
    const char* message = "another rank failed in this collective step") noexcept {
  return Error(static_cast<Errc>(code), message).as_of_others();
}

/// Collective. Calls meet(code), a meeting that this rank comes to with the code of `mine`. Throws
/// that where it is an error, whatever the others have, else what the meeting throws.
template <typename F>
void meet_with(const std::optional<Error>& mine, F&& meet) {
  try {
    meet(mine ? mine->code() : Errc::ok);
  } catch (...) {
    if (!mine) throw;
  }
  if (mine) throw Error(*mine).as_own_matter(false);
}

/// Collective. Returns if no rank has an error. Otherwise throws: a rank's own error where it has
/// one, else one of others with the code of the worst (most negative) one. `value`, if it is there,
/// is reduced on the way.
inline void agree_on_error(const Comm& comm, const std::optional<Error>& mine,
                           std::span<std::int64_t> value = {}, Reduce op = Reduce::min) {
  meet_with(mine, [&](Errc code) { comm.meet(value, op, code); });
}

/// Collective. Rank 0 calls f(); what that throws is thrown on all.
template <typename F>
void by_root(const Comm& comm, F&& f) {
  agree_on_error(comm, comm.is_root() ? attempt_to(f) : std::nullopt);
}

/// Collective. What f(), which returns a std::int64_t that is not negative, returns on rank 0; what
/// it throws there is thrown on all.
template <typename F>
std::int64_t told_by_root(const Comm& comm, F&& f) {
  std::int64_t told = 0;
  std::optional<Error> failed;
  if (comm.is_root()) failed = attempt_to([&] { told = f(); });
  agree_on_error(comm, failed, std::span(&told, 1), Reduce::max);
  return told;
}

/// Collective. For outcomes that are expected, and dealt with by all ranks alike: the error that
/// agree_on_error would throw, if there is one.
inline std::optional<Error> worst_of_all(const Comm& comm, const std::optional<Error>& mine) {
  const auto worst = comm.all_reduce(mine ? to_int(mine->code()) : 0, Reduce::min);
  if (mine) return Error(*mine).as_own_matter(false);
  if (worst == 0) return std::nullopt;
  return error_of_others(worst);
}

/// Collective. Calls f(), whose last step, if it succeeds, is a meeting of all ranks, behind which
/// nothing fails. What it throws on one rank all ranks get to know: each returns an error, its own
/// or another rank's.
template <typename F>
std::optional<Error> up_to_meeting(const Comm& comm, F&& f) {
  comm.forget_failed_meeting();  // that of a step before
  auto failed = attempt_to(f);
  if (failed && !failed->is_own_matter() && !comm.meeting_failed())
    attempt_to([&] { comm.meet(failed->code()); });
  return failed;
}

/// Collective. The same for any f(); costs a meeting more.
///
/// After a failure of either, whoever throws on tells nobody again: the rank that failed may have
/// done so before it came here. Where ranks go on and meet again instead, all of them have to be
/// here before it begins: nothing fails between a meeting and this.
template <typename F>
std::optional<Error> attempt_together(const Comm& comm, F&& f) {
  auto failed = up_to_meeting(comm, f);
  if (!failed || failed->is_own_matter()) {
    auto others = attempt_to([&] { comm.meet(); });
    if (others) failed = others;
  }
  return failed;
}

/// Collective. Calls f(), and throws on all ranks if it throws on one. `value`, which f() may set,
/// is reduced on the way.
template <typename F>
void together(const Comm& comm, F&& f, std::span<std::int64_t> value = {},
              Reduce op = Reduce::min) {
  auto failed = up_to_meeting(comm, f);
  if (!failed || failed->is_own_matter()) comm.meet(value, op, Errc::ok);
  if (failed) throw *failed;
}

}  // namespace forebay
