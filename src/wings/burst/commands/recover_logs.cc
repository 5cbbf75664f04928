// Staging logs for `forebay recover`, and what commands tell of them.
#include <fmt/format.h>

#include <cstdio>

#include "base/attempt.h"
#include "base/text_table.h"
#include "burst/files/staged_source.h"
#include "method/method_values.h"
#include "stage/recovery.h"
#include "store/staging_control.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/leftovers.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace {

std::string outcome_of(const RecoveredSession& s) {
  if (s.error) return "failed";
  if (s.removed) return s.replayed_writes > 0 ? "replayed" : "nothing to replay, logs removed";
  if (s.done) return s.replayed_writes > 0 ? "replayed, logs kept" : "nothing to do";
  if (s.job == Liveness::alive) return "its job runs";
  if (!s.damage.empty()) return "damaged";
  if (s.logs > 0 && s.finished_logs == s.logs) return "nothing to replay";
  return s.missing.empty() ? "can be replayed" : "logs are missing";
}

std::string rate_of(const RecoveredSession& s) {
  const double seconds = s.verify_seconds + s.replay_seconds;
  if (s.replayed_bytes == 0 || seconds <= 0) return "-";
  return fmt::format("{:.1f}", static_cast<double>(s.replayed_bytes) / 1e6 / seconds);
}

std::string sessions_text(const RecoveryResult& result) {
  TextTable table("llrrrrrrrl");
  table.add({"session", "dataset", "logs", "writes", "bytes", "replayed", "skipped", "seconds",
             "MB/s", "outcome"});
  for (const RecoveredSession& s : result.sessions) {
    table.add({fmt::format("{:016x}", s.session), printable(s.file, 60),
               s.logs == s.ranks ? grouped(s.logs) : fmt::format("{} of {}", s.logs, s.ranks),
               grouped(s.writes), friendly_size(s.bytes), grouped(s.replayed_writes),
               grouped(s.skipped_writes),
               fmt::format("{:.2f}", s.verify_seconds + s.replay_seconds), rate_of(s),
               outcome_of(s)});
  }
  return table.text("");
}

std::string remarks_text(const RecoveredSession& s) {
  std::string text;
  for (const std::string& what : s.damage) text += "  damaged: " + printable(what) + "\n";
  for (const std::string& what : s.notes) text += "  note: " + printable(what) + "\n";
  if (s.error) {
    text += "  error: " + printable(s.error->message()) + "\n";
    if (!s.error->advice().empty()) text += "         " + printable(s.error->advice()) + "\n";
  }
  if (text.empty()) return text;
  return fmt::format("{:016x} {}\n", s.session, printable(s.file)) + text;
}

std::string result_text(const RecoveryResult& result, const std::string& path) {
  std::string text;
  if (result.sessions.empty() && result.problems.empty())
    return printable(path) + ": no staging logs, nothing to do\n";
  if (!result.sessions.empty()) text += sessions_text(result);
  for (const RecoveredSession& s : result.sessions) text += remarks_text(s);
  for (const std::string& problem : result.problems)
    text += "cannot be read: " + printable(problem) + "\n";
  return text;
}

Json session_json(const RecoveredSession& s) {
  Json json = {{"session", fmt::format("{:016x}", s.session)},
               {"dataset", s.file},
               {"directory", s.directory},
               {"control_file", s.has_control},
               {"job", {{"state", name_of(s.job)}, {"host", s.host}, {"pid", s.pid}}},
               {"ranks", s.ranks},
               {"logs", s.logs},
               {"missing", s.missing},
               {"finished_logs", s.finished_logs},
               {"writes", s.writes},
               {"bytes", s.bytes},
               {"replayed_writes", s.replayed_writes},
               {"replayed_bytes", s.replayed_bytes},
               {"skipped_writes", s.skipped_writes},
               {"skipped_bytes", s.skipped_bytes},
               {"verify_seconds", s.verify_seconds},
               {"replay_seconds", s.replay_seconds},
               {"outcome", outcome_of(s)},
               {"removed", s.removed},
               {"damage", s.damage},
               {"notes", s.notes}};
  if (s.error) json["error"] = {{"message", s.error->message()}, {"advice", s.error->advice()}};
  return json;
}

bool is_well(const RecoveryResult& result) {
  if (!result.problems.empty()) return false;
  for (const RecoveredSession& s : result.sessions) {
    if (s.error || !s.damage.empty()) return false;
    if (!s.missing.empty() && !s.done) return false;
  }
  return true;
}

int recover_logs(const Comm& comm, const RecoverOptions& options) {
  const RecoveryOptions how{options.list_only, options.verify_only, options.skip_damaged,
                            options.partial,   options.keep,        options.file,
                            options.session};
  RecoveryResult result;
  {
    Progress progress;
    result = recover(comm, options.path, how, [&](const char* step, Count done, Count all) {
      progress.tell(step, done, all);
    });
  }
  if (comm.is_root() && options.json) {
    Json sessions = Json::array();
    for (const RecoveredSession& s : result.sessions) sessions.push_back(session_json(s));
    const Json all = {
        {"path", options.path}, {"sessions", sessions}, {"unreadable", result.problems}};
    print_json(all);
  } else if (comm.is_root()) {
    fmt::print("{}", result_text(result, options.path));
  }
  std::fflush(stdout);
  return is_well(result) ? exit_done : exit_failed;
}

void tell_staged_writes(const std::string& path) {
  if (is_overlaid(path)) return;  // they are shown
  std::optional<FoundStaging> found;
  const auto damaged =
      attempt_to([&] { found = StagingControl::read(StagingControl::path_of(path)); });
  const std::string name = printable(path);
  if (damaged) return fmt::print(stderr, "{}: {}\n", name, printable(damaged->what()));
  if (!found || found->begun_only || found->info.closed || found->job == Liveness::alive) return;
  fmt::print(stderr, "{}: {}; bring in the rest with: forebay recover {}\n", name,
             found->job == Liveness::dead
                 ? "a job ended before all that it wrote was in the file"
                 : "a job staged writes, and may have ended before all were in the file",
             name);
}

}  // namespace

extern const RecoveryEntry staging_recovery{0, true, has_staged_writes, recover_logs};
extern const NoteEntry staging_note{tell_staged_writes};

}  // namespace forebay::tools
