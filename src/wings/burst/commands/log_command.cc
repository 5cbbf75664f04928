// forebay log: shows the contents of staging logs.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/text_table.h"
#include "base/words.h"
#include "burst/fingerprint.h"
#include "burst/log/walk_writes.h"
#include "files/classic_file.h"
#include "method/method_values.h"
#include "store/journal_files.h"
#include "store/staging_control.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

struct LogOptions {
  std::string path;
  bool data = false, verify = false, json = false;
  std::optional<Count> limit;  ///< entries to show of each log; 0: all
  std::optional<Rank> rank;
};

constexpr Count usual_limit = 100;

// Facts about a session that are not in its logs.
struct SessionFacts {
  std::optional<FoundStaging> control;
  std::unique_ptr<ClassicFile> file;  ///< null if it cannot be read
  std::uint64_t fingerprint = 0;      ///< of the file
  std::uint64_t flushed = 0;
  bool closed = false;
};

SessionFacts look_at(const FoundSession& found) {
  SessionFacts session;
  attempt_to([&] {
    session.control = StagingControl::read(StagingControl::path_of(found.file));
    if (session.control && session.control->info.session != found.session) session.control.reset();
  });
  attempt_to([&] {
    session.file = std::make_unique<ClassicFile>(found.file);
    session.fingerprint = schema_fingerprint(session.file->schema());
  });
  if (session.control) {
    session.flushed = session.control->info.flushed;
    session.closed = session.control->info.closed;
  }
  for (const FoundLog& log : found.logs) {
    session.flushed = std::max(session.flushed, log.state.epoch);
    session.closed = session.closed || log.state.closed;
  }
  return session;
}

// One entry in the form in which it is shown.
struct Shown {
  std::uint64_t sequence = 0;
  staging::Write write;
  Count pieces = 0;  ///< 0: a subarray
  bool counts = false;
  std::string data;           ///< the first values
  std::optional<bool> whole;  ///< verified
};

class LogPrinter {
 public:
  LogPrinter(const LogOptions& options, const SessionFacts& session, const FoundLog& log)
      : options_(options), session_(session), log_(log) {
    if (session.file && session.fingerprint == log.state.schema) schema_ = &session.file->schema();
    std::error_code code;
    data_bytes_ = static_cast<Count>(std::filesystem::file_size(data_path(log.stem), code));
    if (code) data_bytes_ = 0;
  }

  /// Calls `show` for the entries in order, up to the limit.
  template <typename F>
  void walk(Count limit, F&& show) {
    const auto error = attempt_to([&] {
      const auto reader = open_log(log_.stem, log_.header.share.part, report_);
      const bool finished = session_.closed || log_.state.epoch < session_.flushed;
      scan_ = staging::walk_writes(
          *reader,
          [&](std::uint64_t sequence, const staging::Write& write,
              const std::shared_ptr<const RunList>& runs) {
            Shown shown;
            shown.sequence = sequence;
            shown.write = write;
            shown.pieces = runs ? std::ssize(runs->runs) : 0;
            shown.counts = !finished && sequence >= log_.state.first_sequence;
            counting_ += shown.counts;
            counting_bytes_ += shown.counts ? write.bytes : 0;
            const bool visible = limit == 0 || seen_ < limit;
            ++seen_;
            if (options_.verify || (options_.data && visible)) read(*reader, shown);
            damaged_ += shown.whole == false;
            if (visible) show(shown);
          },
          true);
    });
    if (error) problem_ = error->what();
  }

  const staging::Scan& scan() const { return scan_; }
  const std::string& problem() const { return problem_; }
  Count seen() const { return seen_; }
  Count counting() const { return counting_; }
  Count counting_bytes() const { return counting_bytes_; }
  Count damaged() const { return damaged_; }
  bool fits() const { return schema_ != nullptr; }
  bool is_well() const { return problem_.empty() && damaged_ == 0 && scan_.damage.empty(); }

  std::string variable(const Shown& shown) const {
    if (schema_ == nullptr || shown.write.var < 0 || shown.write.var >= std::ssize(schema_->vars))
      return fmt::format("#{}", shown.write.var);
    return schema_->vars[static_cast<std::size_t>(shown.write.var)].name;
  }

 private:
  void read(staging::Reader& reader, Shown& shown) {
    const staging::Write& write = shown.write;
    std::vector<std::byte> data;
    shown.whole = write.bytes <= data_bytes_ && !attempt_to([&] {
                    data.resize(static_cast<std::size_t>(write.bytes));
                    reader.read(write, data);
                  });
    if (*shown.whole && options_.data) shown.data = values(write, data);
    if (!options_.verify && *shown.whole) shown.whole.reset();
  }

  // Returns the first values as text.
  static std::string values(const staging::Write& write, std::span<const std::byte> data) {
    constexpr std::size_t most = 8;
    const auto width = static_cast<std::size_t>(size_of(write.type));
    if (width == 0) return {};
    const std::size_t count = data.size() / width;
    std::vector<std::byte> external(std::min(count, most) * width);
    if (write.external) {
      std::memcpy(external.data(), data.data(), external.size());
    } else {
      copy_swapped(external.data(), data.data(), external.size(), static_cast<int>(width));
    }
    std::string text;
    if (write.type == Type::chr) {
      text = printable({reinterpret_cast<const char*>(external.data()), external.size()});
    } else {
      std::vector<double> numbers(std::min(count, most));
      from_external(write.type, external.data(), Type::float64, numbers.data(),
                    static_cast<Count>(numbers.size()), nullptr);
      text = joined(numbers, " ", [](double value) { return fmt::format("{:.9g}", value); });
    }
    return text + (count > most ? " …" : "");
  }

  const LogOptions& options_;
  const SessionFacts& session_;
  const FoundLog& log_;
  const Schema* schema_ = nullptr;
  Count data_bytes_ = 0;
  Report report_;
  staging::Scan scan_;
  std::string problem_;
  Count seen_ = 0, counting_ = 0, counting_bytes_ = 0, damaged_ = 0;
};

std::string numbers_text(const std::vector<Count>& numbers) {
  if (numbers.empty()) return "-";
  return joined(numbers, ",");
}

std::string state_of(const Shown& shown) {
  std::string text = shown.counts ? "staged" : "flushed";
  if (shown.write.continues) text += ", goes on";
  if (shown.whole) text += *shown.whole ? ", whole" : ", DAMAGED";
  return text;
}

// -- text

void print_head(const FoundSession& found, const SessionFacts& session) {
  fmt::print("session {:016x}: {}, {}\n  dataset  {}{}\n", found.session,
             counted(found.ranks, "rank"), found.per_node ? "one log a node" : "one log a rank",
             printable(found.file), session.file ? "" : "  (cannot be read)");
  if (session.control) {
    fmt::print("  job      {} ({})\n", name_of(session.control->job),
               printable(owner_of(session.control->info)));
  } else {
    fmt::print("  job      no control file names this session\n");
  }
  fmt::print("  flushes  {} complete{}\n", session.flushed, session.closed ? ", closed" : "");
}

bool print_log(const LogOptions& options, const SessionFacts& session, const FoundLog& log) {
  LogPrinter printer(options, session, log);
  const Count limit = options.limit.value_or(usual_limit);
  fmt::print("log of rank {}: {}\n", log.header.rank, printable(records_path(log.stem)));
  TextTable table("rlllrrrll");
  const auto head = [&] {
    table = TextTable("rlllrrrll");
    table.add({"entry", "variable", "start", "count", "stride", "bytes", "at", "state",
               options.data ? "values" : ""});
  };
  head();
  Count rows = 0;
  printer.walk(limit, [&](const Shown& shown) {
    const auto* sub = std::get_if<Subarray>(&shown.write.selection);
    const bool empty = sub == nullptr;
    table.add({std::to_string(shown.sequence), printable(printer.variable(shown), 40),
               empty ? grouped(shown.pieces) + " pieces" : numbers_text(sub->start),
               empty ? "" : numbers_text(sub->count), empty ? "" : numbers_text(sub->stride),
               std::to_string(shown.write.bytes), std::to_string(shown.write.data), state_of(shown),
               shown.data});
    if (++rows % 1000 == 0) {
      fmt::print("{}", table.text());
      head();
    }
  });
  if (rows % 1000 != 0) fmt::print("{}", table.text());
  if (printer.seen() > rows) fmt::print("  … {} more\n", grouped(printer.seen() - rows));
  fmt::print("  epoch {}, {} of {} writes staged, {}{}\n", log.state.epoch,
             grouped(printer.counting()), grouped(printer.seen()),
             friendly_size(printer.counting_bytes()),
             printer.fits() ? "" : "; the definitions of the file are not those of the log");
  for (const std::string& what : printer.scan().damage)
    fmt::print("  damaged: {}\n", printable(what));
  if (printer.damaged() > 0)
    fmt::print("  damaged: the data of {} writes\n", grouped(printer.damaged()));
  if (printer.scan().torn) fmt::print("  note: it ends with bytes that are no entry\n");
  if (printer.scan().cut_entries > 0) fmt::print("  note: its last request is not complete\n");
  if (!printer.problem().empty()) fmt::print("  damaged: {}\n", printable(printer.problem()));
  return printer.is_well();
}

// -- JSON

Json entry_json(const LogPrinter& printer, const Shown& shown) {
  const staging::Write& write = shown.write;
  Json json = {{"sequence", shown.sequence},
               {"variable", printer.variable(shown)},
               {"var", write.var},
               {"type", name_of(write.type)}};
  if (const auto* sub = std::get_if<Subarray>(&write.selection)) {
    json["start"] = sub->start;
    json["count"] = sub->count;
    if (!sub->stride.empty()) json["stride"] = sub->stride;
  } else {
    json["pieces"] = shown.pieces;
  }
  json["last_record"] = write.last_record;
  json["bytes"] = write.bytes;
  json["at"] = write.data;
  json["hash"] = fmt::format("{:016x}", write.hash);
  json["continues"] = write.continues;
  json["staged"] = shown.counts;
  if (shown.whole) json["whole"] = *shown.whole;
  if (!shown.data.empty()) json["values"] = shown.data;
  return json;
}

Json log_json(const LogOptions& options, const SessionFacts& session, const FoundLog& log,
              bool& well) {
  LogPrinter printer(options, session, log);
  Json entries = Json::array();
  printer.walk(options.limit.value_or(0),
               [&](const Shown& shown) { entries.push_back(entry_json(printer, shown)); });
  const staging::Share& share = log.header.share;
  Json json = {{"rank", log.header.rank},
               {"records", records_path(log.stem)},
               {"data", data_path(log.stem)},
               {"share",
                {{"part", share.part},
                 {"parts", share.parts},
                 {"record_block", share.record_block},
                 {"data_block", share.data_block}}},
               {"epoch", log.state.epoch},
               {"schema", fmt::format("{:016x}", log.state.schema)},
               {"fits_file", printer.fits()},
               {"least_records", log.state.least_records},
               {"closed", log.state.closed},
               {"writes", printer.seen()},
               {"staged_writes", printer.counting()},
               {"staged_bytes", printer.counting_bytes()},
               {"torn", printer.scan().torn},
               {"incomplete_writes", printer.scan().cut_entries},
               {"damaged_writes", printer.damaged()},
               {"damage", printer.scan().damage},
               {"entries", std::move(entries)}};
  if (!printer.problem().empty()) json["error"] = printer.problem();
  well = well && printer.is_well();
  return json;
}

Json session_json(const FoundSession& found, const SessionFacts& session) {
  Json json = {{"session", fmt::format("{:016x}", found.session)},
               {"dataset", found.file},
               {"ranks", found.ranks},
               {"per_node", found.per_node},
               {"flushed", session.flushed},
               {"closed", session.closed}};
  if (session.control) {
    json["job"] = {{"state", name_of(session.control->job)},
                   {"host", session.control->info.host},
                   {"pid", session.control->info.pid}};
  }
  json["logs"] = Json::array();
  return json;
}

// -- finding logs

FoundLogs find(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  // A dataset may be a directory too.
  const bool is_dataset = fs::exists(StagingControl::path_of(path), code);
  if (fs::is_directory(path, code) && !is_dataset) return find_logs(path);
  if (const auto name = parse_log_name(fs::path(path).filename().string())) {
    const fs::path parent = fs::path(path).parent_path();
    FoundLogs all = find_logs(parent.empty() ? "." : parent.string(), name->session);
    const std::string stem = path.substr(0, path.rfind('.'));
    for (FoundSession& session : all.sessions) {
      std::erase_if(session.logs, [&](const FoundLog& log) {
        return fs::path(log.stem).filename() != fs::path(stem).filename();
      });
    }
    return all;
  }
  const auto control =
      StagingControl::read(path.ends_with(".staging") ? path : StagingControl::path_of(path));
  if (!control) {
    if (!fs::exists(path, code))
      throw Error(Errc::enoent, path + ": there is no such file or directory");
    return {};
  }
  if (control->begun_only) return {};
  return find_logs(control->info.directory, control->info.session);
}

int run_log(const LogOptions& options) {
  const FoundLogs all = find(options.path);
  bool well = all.problems.empty();
  Json sessions = Json::array();
  if (!options.json && all.sessions.empty() && all.problems.empty())
    fmt::print("{}: no staging logs\n", printable(options.path));
  for (const FoundSession& found : all.sessions) {
    const SessionFacts session = look_at(found);
    Json json;
    options.json ? void(json = session_json(found, session)) : print_head(found, session);
    for (const FoundLog& log : found.logs) {
      if (options.rank && log.header.rank != *options.rank) continue;
      if (options.json) {
        json["logs"].push_back(log_json(options, session, log, well));
      } else {
        well = print_log(options, session, log) && well;
      }
    }
    sessions.push_back(std::move(json));
  }
  if (options.json) {
    Json problems = Json::array();
    for (const LogProblem& problem : all.problems)
      problems.push_back({{"path", problem.path}, {"reason", problem.reason}});
    const Json whole = {{"path", options.path}, {"sessions", sessions}, {"unreadable", problems}};
    print_json(whole);
  } else {
    for (const LogProblem& problem : all.problems)
      fmt::print("cannot be read: {}: {}\n", printable(problem.path), printable(problem.reason));
  }
  std::fflush(stdout);
  return well ? exit_done : exit_failed;
}

}  // namespace

static void add_log_command(CLI::App& app, int& status) {
  auto options = std::make_shared<LogOptions>();
  Command command(app, "log", "Show what is in staging logs");
  command
      .add_option("PATH", options->path,
                  "a directory with logs, a dataset with staged writes, or one log file")
      .required();
  command.add_flag("--data", options->data, "also show the first values of each write");
  command.add_flag("--verify", options->verify, "read all data and check its checksums");
  command
      .add_option("--limit", options->limit,
                  "entries shown of each log; 0: all (100 unless given; all with --json)")
      .not_negative();
  command.add_option("--rank", options->rank, "only the log of this rank").not_negative();
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer("Exit codes: 0 all is well, 1 something is damaged or cannot be read.");
  command.callback([options, &status] { status = run_log(*options); });
}

extern const CommandEntry log_command{8, add_log_command};

}  // namespace forebay::tools
