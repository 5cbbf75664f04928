// Agreement on errors: a collective step ends with the same outcome on every rank.
//
// A rank that fails between two collective calls cannot know what the others wait for next. It does
// not need to: it takes part in their next reduction, whatever that is for, and reports its error
// there. Every rank then throws out of the call that it is in (comm/comm.h). `together` does that.
// It encloses all that ranks do collectively in the functions that users call, and each part of it
// whose failure is handled inside.
//
// Two rules make it work. Where ranks wait for each other outside such a reduction (in shared
// memory of a node, in messages, in MPI's files), no step may be left out: there errors are kept
// (`attempt_to`) and reported afterwards. And whoever catches an exception around collective calls
// must inform the others, by one of the functions below. A plain `attempt_to` is only for calls
// that all ranks make to the end in any case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/attempt.h"
#include "comm/comm.h"

namespace forebay {

/// Returns the error that a rank throws when another rank failed.
inline Error error_of_others(
    std::int64_t code,
    const char* message = "another rank failed in this collective step") noexcept {
  return Error(static_cast<Errc>(code), message).as_of_others();
}

/// Local, before a reduction that this rank joins with the code of `mine`. The others get its text,
/// too. If `mine` is another rank's error, its text names that rank and is passed on.
void tell_at_meeting(const Comm& comm, const Error& mine) noexcept;

/// Collective over ranks that know `worst`, the worst of their codes. Returns an error of others
/// with the text of the first rank that has this code, its number and its host.
Error told_by_others(const Comm& comm, const std::optional<Error>& mine, std::int64_t worst);

/// Collective. Calls meet(code), a reduction of `comm` that this rank joins with the code of
/// `mine`. Throws `mine` if it is an error, whatever the others have; else what the reduction
/// throws.
template <typename F>
void meet_with(const Comm& comm, const std::optional<Error>& mine, F&& meet) {
  try {
    if (mine) tell_at_meeting(comm, *mine);
    meet(mine ? mine->code() : Errc::ok);
  } catch (...) {
    if (!mine) throw;
  }
  if (mine) throw Error(*mine).as_own_matter(false);
}

/// Collective. Returns if no rank has an error. Otherwise throws a rank's own error if it has one,
/// else an error of others with the worst (most negative) code. `value`, if given, is reduced on
/// the way.
inline void agree_on_error(const Comm& comm, const std::optional<Error>& mine,
                           std::span<std::int64_t> value = {}, Reduce op = Reduce::min) {
  meet_with(comm, mine, [&](Errc code) { comm.meet(value, op, code); });
}

/// Collective. Rank 0 calls f(). An error of f() is thrown on all ranks.
template <typename F>
void by_root(const Comm& comm, F&& f) {
  agree_on_error(comm, comm.is_root() ? attempt_to(f) : std::nullopt);
}

/// Collective. Rank 0 calls f(), and all ranks return its result, a std::int64_t that is not
/// negative. An error of f() is thrown on all ranks.
template <typename F>
std::int64_t told_by_root(const Comm& comm, F&& f) {
  std::int64_t told = 0;
  std::optional<Error> failed;
  if (comm.is_root()) failed = attempt_to([&] { told = f(); });
  agree_on_error(comm, failed, std::span(&told, 1), Reduce::max);
  return told;
}

/// Collective. Returns the error that agree_on_error would throw, if there is one. For errors that
/// are expected and that all ranks handle alike.
inline std::optional<Error> worst_of_all(const Comm& comm, const std::optional<Error>& mine) {
  const auto worst = comm.all_reduce(mine ? to_int(mine->code()) : 0, Reduce::min);
  if (worst == 0) return std::nullopt;
  Error others = comm.size() > 1 ? told_by_others(comm, mine, worst) : *mine;
  return mine ? Error(*mine).as_own_matter(false) : std::move(others);
}

/// Collective. Calls f(), whose last step, if it succeeds, is a reduction of all ranks, after which
/// nothing fails. An error on one rank is reported to all: each returns an error, its own or
/// another rank's.
template <typename F>
std::optional<Error> up_to_meeting(const Comm& comm, F&& f) {
  comm.forget_failed_meeting();  // of an earlier step
  auto failed = attempt_to(f);
  if (failed && !failed->is_own_matter() && !comm.meeting_failed())
    attempt_to([&] { agree_on_error(comm, failed); });
  return failed;
}

/// Collective. Does the same for any f(); costs one more reduction.
///
/// After a failure of either function, a caller that rethrows does not report the error again: the
/// failed rank may have done so already. If ranks go on instead (attempt_and_go_on), all must have
/// reached this call before it begins: nothing fails between a reduction and this call.
template <typename F>
std::optional<Error> attempt_together(const Comm& comm, F&& f) {
  auto failed = up_to_meeting(comm, f);
  if (!failed || failed->is_own_matter()) {
    auto others = attempt_to([&] { comm.meet(); });
    if (others) failed = others;
  }
  return failed;
}

/// Collective. Does attempt_together() for callers that go on after an error of f(), on all ranks.
/// Then a later error of one rank is a new one, which the others do not know.
template <typename F>
std::optional<Error> attempt_and_go_on(const Comm& comm, F&& f) {
  auto failed = attempt_together(comm, f);
  comm.forget_failed_meeting();
  return failed;
}

/// Collective. Calls f(), and throws on all ranks if f() throws on one. `value`, which f() may set,
/// is reduced on the way.
template <typename F>
void together(const Comm& comm, F&& f, std::span<std::int64_t> value = {},
              Reduce op = Reduce::min) {
  auto failed = up_to_meeting(comm, f);
  if (!failed || failed->is_own_matter()) comm.meet(value, op, Errc::ok);
  if (failed) throw *failed;
}

}  // namespace forebay
