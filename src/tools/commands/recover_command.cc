// forebay recover: replays what a job that ended left in staging logs.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "comm/session.h"
#include "dataset/recovery.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/json.h"
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

struct Options {
  std::string path, session;
  RecoveryOptions how;
  bool json = false;
};

// Collective. Rank 0 tells what every rank knows.
int run(Options& options) {
  const Session ranks;
  const bool speaks = ranks.world().is_root();
  if (!options.session.empty()) options.how.session = std::stoull(options.session, nullptr, 16);
  try {
    RecoveryResult result;
    {
      Progress progress;
      result =
          recover(ranks.world(), options.path, options.how,
                  [&](const char* step, Count done, Count all) { progress.tell(step, done, all); });
    }
    if (speaks && options.json) {
      Json sessions = Json::array();
      for (const RecoveredSession& s : result.sessions) sessions.push_back(session_json(s));
      const Json all = {
          {"path", options.path}, {"sessions", sessions}, {"unreadable", result.problems}};
      print_json(all);
    } else if (speaks) {
      fmt::print("{}", result_text(result, options.path));
    }
    std::fflush(stdout);
    return is_well(result) ? exit_done : exit_failed;
  } catch (const Error& error) {
    // The same on all ranks.
    if (speaks) print_error(error);
    return exit_failed;
  }
}

}  // namespace

void add_recover_command(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  Command command(app, "recover", "Replay the writes that a job which ended left in staging logs");
  command.add_option("PATH", options->path, "the dataset, or a directory with logs of any number")
      .required();
  command.add_flag("--list", options->how.list_only, "only tell what there is");
  command.add_flag("--verify", options->how.verify_only,
                   "read and check everything, change nothing");
  command.add_flag("--skip-damaged", options->how.skip_damaged,
                   "replay what is whole though other writes are damaged");
  command.add_flag("--partial", options->how.partial,
                   "go on though the logs of some ranks are missing");
  command.add_option("--file", options->how.file,
                     "replay into this file instead of the one that the logs name");
  command
      .add_option("--session", options->session,
                  "of a directory's logs, only those of this session")
      .check([](const std::string& text) {
        return !text.empty() && text.size() <= 16 &&
                       text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos
                   ? std::string()
                   : "a session is up to 16 hexadecimal digits";
      });
  command.add_flag("--keep", options->how.keep, "leave logs and control file where they are");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Under mpiexec the ranks share the logs out; a rank on each node finds logs on local "
      "disks.\nExit codes: 0 all is in the file, or there was nothing to do; 1 something is "
      "damaged, "
      "missing, or could not be done.");
  command.callback([options, &status] { status = run(*options); });
}

}  // namespace forebay::tools
