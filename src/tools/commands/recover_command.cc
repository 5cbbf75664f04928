// forebay recover: replays what a job that ended left in staging logs, and finds the steps of BP4
// directories that it did not end, or whose index is lost.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "comm/agree.h"
#include "comm/session.h"
#include "dataset/recovery.h"
#include "files/bp_source.h"
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

// -- BP files

std::string outcome_of(const BpRecovery& r) {
  if (!r.needed) return "nothing to do";
  if (r.changed) return "recovered";
  return r.lost() > 0 ? "damaged" : r.steps == 0 ? "nothing found" : "can be recovered";
}

bool is_well(const BpRecovery& r) {
  return r.lost() == 0 && !r.unsure && (!r.needed || r.steps > 0 || r.changed);
}

std::string result_text(const BpRecovery& r, const std::string& path) {
  std::string text =
      fmt::format("{}: {} steps in the index, {} are whole", printable(path),
                  grouped(static_cast<Count>(r.before)), grouped(static_cast<Count>(r.steps)));
  if (r.by_index > 0) text += fmt::format(", {} of them by md.0 alone", r.by_index);
  if (r.by_groups > 0) text += fmt::format(", {} of them by their process groups", r.by_groups);
  text += ": " + outcome_of(r) + "\n";
  for (const std::string& note : r.notes) text += "  note: " + printable(note) + "\n";
  for (const std::string& file : r.kept) text += "  " + printable(file) + " is what was there\n";
  if (r.unsure) text += "  there may have been more steps, which cannot be put together\n";
  if (r.lost() > 0 && !r.changed)
    text += "  the index is left as it was: --skip-damaged goes on with the steps that are whole\n";
  return text;
}

Json result_json(const BpRecovery& r, const std::string& path) {
  return {{"path", path},
          {"steps_in_index", r.before},
          {"steps", r.steps},
          {"by_index", r.by_index},
          {"by_groups", r.by_groups},
          {"lost", r.lost()},
          {"unsure", r.unsure},
          {"changed", r.changed},
          {"outcome", outcome_of(r)},
          {"notes", r.notes},
          {"kept", r.kept}};
}

void check_bp_options(const Options& options) {
  const RecoveryOptions& how = options.how;
  if (how.partial || how.keep || how.session || !how.file.empty())
    throw Error(Errc::einval, printable(options.path) + " is a BP file, and has no logs",
                "--list, --verify, --skip-damaged and --json are for those");
}

// Collective: rank 0 does all of it.
int run_bp(const Comm& comm, const Options& options) {
  BpRecovery result;
  by_root(comm, [&] {
    check_bp_options(options);
    result = recover_bp(
        options.path, {options.how.list_only || options.how.verify_only, options.how.skip_damaged});
  });
  if (!comm.is_root()) return exit_done;
  if (options.json)
    print_json(result_json(result, options.path));
  else
    fmt::print("{}", result_text(result, options.path));
  std::fflush(stdout);
  return is_well(result) ? exit_done : exit_failed;
}

// Collective. Rank 0 tells what every rank knows.
int run(Options& options) {
  const Session ranks;
  const bool speaks = ranks.world().is_root();
  if (!options.session.empty()) options.how.session = std::stoull(options.session, nullptr, 16);
  try {
    std::int64_t is_bp = 0;
    agree_on_error(ranks.world(), attempt_to([&] {
                     is_bp = has_bp_files(options.path) && !has_staged_writes(options.path);
                   }));
    ranks.world().broadcast(&is_bp, sizeof is_bp);
    if (is_bp != 0) return run_bp(ranks.world(), options);
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
  Command command(app, "recover",
                  "Finish what a job left that ended: writes in staging logs, steps of BP files");
  command
      .add_option(
          "PATH", options->path,
          "the dataset, a directory with logs of any number, or a BP4 directory or BP3 file")
      .required();
  command.add_flag("--list", options->how.list_only, "only tell what there is");
  command.add_flag("--verify", options->how.verify_only,
                   "read and check everything, change nothing");
  command.add_flag(
      "--skip-damaged", options->how.skip_damaged,
      "replay what is whole though other writes are damaged; of a BP file go on with fewer steps "
      "than its index tells of");
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
      "Of a BP4 directory (docs/groups.md) whole steps that md.idx does not tell of get their "
      "records, also where md.idx or md.0 is lost: from md.0, else from the process groups in "
      "data.K. These are never changed, and the old index stays as md.idx.old and md.0.old. A BP3 "
      "file that does not end with its footer, or has whole steps beyond it, gets a new index and "
      "footer behind all that is there, and nothing else of it is changed. Nobody may write the "
      "file meanwhile. Rank 0 does all of it. Steps in staging logs go to their BP4 directory "
      "first, and that is all then: run it again where the index is damaged, too.\n"
      "Under mpiexec the ranks share the logs out; a rank on each node finds logs on local "
      "disks.\nExit codes: 0 all is in the file, or there was nothing to do; 1 something is "
      "damaged, "
      "missing, or could not be done.");
  command.callback([options, &status] { status = run(*options); });
}

}  // namespace forebay::tools
