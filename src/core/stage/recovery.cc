// Finds the sessions to recover, and decides what opening a dataset does about them.
// session_recovery.cc recovers one session.
#include "stage/recovery.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/attempt.h"
#include "comm/agree.h"
#include "stage/session_recovery.h"
#include "store/journal_files.h"

namespace forebay {
namespace {

constexpr std::string_view suffix = ".staging";

std::string control_path_of(const std::string& path) {
  return path.ends_with(suffix) ? path : StagingControl::path_of(path);
}

// Rank 0's control file, and what all ranks know of it.
struct Control {
  std::int64_t found = 0, begun_only = 0;
  Liveness job = Liveness::unknown;
  StagingInfo info;
  std::unique_ptr<StagingControl> locked;  ///< on rank 0; null if it is only looked at

  /// On rank 0. `look`: takes no lock.
  void find(const std::string& path, bool look) {
    if (auto left = StagingControl::read(path)) {
      found = 1;
      begun_only = left->begun_only;
      job = left->job;
      info = left->info;
    }
    if (!found || look || job == Liveness::alive) return;
    locked = StagingControl::take_over(path);
    if (!locked) {
      *this = Control{};  // it was removed just now
      return;
    }
    info = locked->info();  // includes the job's last changes
    begun_only = locked->begun_only();
  }

  /// Collective.
  void share(const Comm& comm) {
    if (comm.size() == 1) return;
    std::array<std::int64_t, 9> facts{found,
                                      begun_only,
                                      static_cast<std::int64_t>(job),
                                      static_cast<std::int64_t>(info.session),
                                      info.ranks,
                                      info.per_node,
                                      info.pid,
                                      static_cast<std::int64_t>(info.flushed),
                                      info.closed};
    comm.broadcast(facts.data(), sizeof facts);
    found = facts[0];
    begun_only = facts[1];
    job = static_cast<Liveness>(facts[2]);
    info.session = static_cast<std::uint64_t>(facts[3]);
    info.ranks = static_cast<int>(facts[4]);
    info.per_node = facts[5] != 0;
    info.pid = facts[6];
    info.flushed = static_cast<std::uint64_t>(facts[7]);
    info.closed = facts[8] != 0;
    if (!found) return;
    for (std::string* text : {&info.directory, &info.file, &info.host}) comm.broadcast(*text);
  }
};

// Calls f() on rank 0; every rank gets its error.
template <typename F>
void on_root(const Comm& comm, F&& f) {
  std::optional<Error> error;
  if (comm.is_root()) error = attempt_to(f);
  agree_on_words(comm, error);
}

void run_session(const Comm& comm, const RecoveryOptions& options, const RecoveryProgress& progress,
                 Control control, RecoveredSession& result) {
  result.has_control = control.found != 0;
  result.job = control.job;
  result.host = control.info.host;
  result.pid = control.info.pid;
  comm.meet();
  result.error = attempt_and_go_on(comm, [&] {
    make_session_recovery({comm, options, progress, result, control.locked, control.info})->run();
  });
}

// -- of a dataset

void recover_file(const Comm& comm, const std::string& path, const RecoveryOptions& options,
                  const RecoveryProgress& progress, RecoveryResult& result) {
  Control control;
  const bool look = options.list_only || options.verify_only;
  on_root(comm, [&] {
    const std::string there = control_path_of(path);
    control.find(there, look);
    struct stat status {};
    if (!control.found && ::stat(path.c_str(), &status) != 0)
      throw system_error(errno, Errc::efile, "looking for", path);
  });
  control.share(comm);
  if (!control.found) return;
  RecoveredSession& session = result.sessions.emplace_back();
  // The user named this file; both it and the one that the job knew may have been moved.
  session.file = StagingControl::canonical(
      path.substr(0, path.size() - (path.ends_with(suffix) ? suffix.size() : 0)));
  if (control.begun_only) {
    session.notes.emplace_back("the job ended before it staged anything");
    session.has_control = true;
    session.job = control.job;
    session.done = true;
    if (look || options.keep || control.job == Liveness::alive) return;
    on_root(comm, [&] { control.locked->remove(); });
    session.removed = true;
    return;
  }
  session.session = control.info.session;
  session.directory = control.info.directory;
  session.ranks = control.info.ranks;
  run_session(comm, options, progress, std::move(control), session);
}

// -- of a directory

// Returns the sessions whose logs any rank sees.
std::vector<std::uint64_t> sessions_in(const Comm& comm, const std::vector<LogPair>& pairs,
                                       const std::optional<Error>& error) {
  const bool seen = comm.all_reduce(error ? 0 : 1, Reduce::max) != 0;
  if (!seen) agree_on_words(comm, error);
  std::vector<std::uint64_t> mine;
  for (const LogPair& pair : pairs) {
    if (mine.empty() || mine.back() != pair.name.session) mine.push_back(pair.name.session);
  }
  std::vector<std::int64_t> sizes;
  const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(mine)), sizes);
  std::vector<std::uint64_t> all(bytes.size() / sizeof(std::uint64_t));
  if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Reads the session from the first header that can be read. Returns false if there is none.
bool learn(const Comm& comm, const std::vector<LogPair>& pairs, RecoveredSession& session,
           std::vector<std::string>& problems) {
  std::optional<journal::Header> header;
  std::vector<LogProblem> unreadable;
  for (const LogPair& pair : pairs) {
    if (header || pair.name.session != session.session) continue;
    const auto logs = logs_of(pair, unreadable);
    if (!logs.empty()) header = logs.front().header;
  }
  const auto teacher = comm.all_reduce(header ? comm.rank() : comm.size(), Reduce::min);
  if (teacher == comm.size()) {
    for (const LogProblem& problem : unreadable)
      problems.push_back(problem.path + ": " + problem.reason);
    return false;
  }
  if (comm.rank() == teacher) {
    session.ranks = header->ranks;
    session.file = header->path;
  }
  comm.broadcast(&session.ranks, sizeof session.ranks, static_cast<Rank>(teacher));
  comm.broadcast(session.file, static_cast<Rank>(teacher));
  return true;
}

constexpr int most_ranks = 1 << 24;  // of a job; bounds the length of an array

void recover_logs(const Comm& comm, const RecoveryOptions& options,
                  const RecoveryProgress& progress, RecoveredSession& session) {
  Control control;
  const bool look = options.list_only || options.verify_only;
  comm.meet();
  session.error = attempt_and_go_on(comm, [&] {
    on_root(comm, [&] {
      if (session.ranks > most_ranks) {
        throw Error(Errc::ebadlog, fmt::format("the logs tell of {} ranks", session.ranks),
                    "they were written by no build of Forebay");
      }
      std::uint64_t other = 0;
      for (const std::string& file : {options.file, session.file}) {
        if (file.empty()) continue;
        const auto left = StagingControl::read(StagingControl::path_of(file));
        if (!left || left->begun_only) continue;
        if (left->info.session == session.session) {
          control.find(StagingControl::path_of(file), look);
          return;
        }
        other = left->info.session;
      }
      if (other != 0 && !look) {
        throw Error(Errc::ebadlog,
                    fmt::format("the control file of {} names another session, {:016x}: these logs "
                                "are older",
                                session.file, other),
                    "if they are of no use, remove them");
      }
    });
    control.share(comm);
  });
  if (session.error) return;
  if (!control.found) control.info.file = session.file;
  run_session(comm, options, progress, std::move(control), session);
}

void recover_directory(const Comm& comm, const std::string& directory,
                       const RecoveryOptions& options, const RecoveryProgress& progress,
                       RecoveryResult& result) {
  std::vector<LogPair> pairs;
  const auto error = attempt_to([&] { pairs = list_logs(directory, options.session); });
  std::vector<RecoveredSession> found;
  for (const std::uint64_t id : sessions_in(comm, pairs, error)) {
    RecoveredSession session;
    session.session = id;
    session.directory = directory;
    if (learn(comm, pairs, session, result.problems)) found.push_back(std::move(session));
  }
  if (!options.file.empty() && found.size() > 1) {
    throw Error(
        Errc::einval,
        fmt::format("{} has logs of {} sessions, and one file was named", directory, found.size()),
        "choose one with --session");
  }
  for (RecoveredSession& session : found) {
    recover_logs(comm, options, progress, session);
    result.sessions.push_back(std::move(session));
  }
  gather_sentences(comm, result.problems);
}

/// Returns whether a wing knows the path as a file of its own.
bool is_of_a_kind(const std::string& path) {
  const auto replays = built_in_replays();
  return std::any_of(replays.begin(), replays.end(), [&](const ReplayEntry* entry) {
    return entry->applies && entry->applies(path);
  });
}

}  // namespace

std::optional<FoundStaging> shared_staging(const Comm& comm, const std::string& path) {
  Control control;
  on_root(comm, [&] { control.find(StagingControl::path_of(path), true); });
  control.share(comm);
  if (!control.found) return std::nullopt;
  return FoundStaging{control.info, control.job, control.begun_only != 0};
}

bool has_staged_writes(const std::string& path) {
  return ::access(StagingControl::path_of(path).c_str(), F_OK) == 0;
}

RecoveryResult recover(const Comm& comm, const std::string& path, const RecoveryOptions& options,
                       const RecoveryProgress& progress) {
  RecoveryResult result;
  together(comm, [&] {
    std::string shared = path;
    comm.broadcast(shared);
    struct stat status {};
    // A directory may be a file, with a control file beside it.
    std::int64_t directory = ::stat(shared.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                             !has_staged_writes(shared) && !is_of_a_kind(shared);
    directory = comm.all_reduce(directory, Reduce::max);
    if (directory) {
      recover_directory(comm, shared, options, progress, result);
    } else {
      recover_file(comm, shared, options, progress, result);
    }
  });
  return result;
}

// -- opening

namespace {

[[noreturn]] void refuse(const std::string& path, const Control& control) {
  const StagingInfo& info = control.info;
  const std::string where =
      fmt::format("{}, {} rank{}", info.directory, info.ranks, info.ranks == 1 ? "" : "s");
  if (control.job == Liveness::unknown) {
    throw Error(
        Errc::ebadlog,
        fmt::format("{} has writes staged in logs ({}) of a job of which cannot be told "
                    "whether it still runs ({})",
                    path, where, owner_of(info)),
        fmt::format("if it ended, run forebay recover {}; the hint recover=ignore opens the "
                    "file as it is",
                    path));
  }
  throw Error(
      Errc::ebadlog,
      fmt::format("{} has writes staged in logs of a job that ended ({})", path, where),
      fmt::format("run forebay recover {}, or set the hint recover=auto to replay them now, "
                  "or recover=ignore to open it as it is",
                  path));
}

void replay_now(const Comm& comm, const std::string& path) {
  const RecoveryResult result = recover(comm, path, {});
  for (const RecoveredSession& session : result.sessions) {
    if (session.error) throw *session.error;
  }
}

// The file is about to be emptied, so its logs are removed, too.
void discard(const Comm& comm, const std::string& path, const Control& control,
             const Method& method) {
  on_root(comm, [&] {
    if (control.job == Liveness::unknown) refuse(path, control);
    if (method.burst_overwrite == Switch::disable) {
      throw Error(Errc::eexist,
                  fmt::format("{} has writes staged in logs of a job that ended ({})", path,
                              control.info.directory),
                  "set nc_burst_buf_overwrite=enable to discard them, or run forebay recover");
    }
  });
  std::unique_ptr<StagingControl> locked;
  on_root(comm, [&] {
    locked = StagingControl::take_over(StagingControl::path_of(path));
    if (locked) locked->set_closed(locked->info().flushed);
  });
  std::vector<LogPair> pairs;
  // If the directory does not exist, there are no logs.
  attempt_to([&] { pairs = list_logs(control.info.directory, control.info.session); });
  agree_on_words(comm, attempt_to([&] {
                   for (const LogPair& pair : pairs) remove_logs(pair.stem);
                 }));
  on_root(comm, [&] {
    if (locked) locked->remove();
  });
}

}  // namespace

bool has_leftover_logs(const std::string& path) {
  bool found = false;
  const auto failed =
      attempt_to([&] { found = StagingControl::read(StagingControl::path_of(path)).has_value(); });
  return failed || found;
}

void meet_leftover_logs(const Comm& comm, const std::string& path, bool writable, bool creating,
                        const Method& method) {
  if (method.recover == Recover::ignore && !creating) return;
  if (lays_over(method) && !writable) return;
  Control control;
  std::optional<Error> error;
  std::int64_t state = 0;  // 0: there is nothing
  if (comm.is_root()) {
    error = attempt_to([&] { control.find(StagingControl::path_of(path), true); });
    state = error ? 2 : control.found;
  }
  comm.broadcast(&state, sizeof state);
  if (state == 0) return;
  agree_on_words(comm, error);
  control.share(comm);
  const bool writes = writable || creating;
  if (control.job == Liveness::alive) {
    if (!writes) return;
    if (control.begun_only) {
      throw Error(Errc::eperm, path + " is being opened by another job that stages its writes",
                  "let one job at a time write a file");
    }
    throw_alive(control.info);
  }
  if (control.begun_only) return;  // nothing was staged, and the next job that stages overwrites it
  if (creating) return discard(comm, path, control, method);
  if (control.info.closed && !writes) return;
  if (control.job == Liveness::dead &&
      (control.info.closed || method.recover == Recover::automatic))
    return replay_now(comm, path);
  refuse(path, control);
}

}  // namespace forebay
