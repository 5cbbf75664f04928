#include "stage/session_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "base/attempt.h"
#include "comm/agree.h"
#include "storage/file.h"

namespace forebay {
namespace {

constexpr std::size_t most_sentences = 1000;
constexpr std::size_t most_listed = 10;  // items in an error

using Clock = std::chrono::steady_clock;

}  // namespace

std::string listed(const std::vector<Rank>& ranks) {
  std::string text;
  std::size_t groups = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (groups++ == most_listed) return text + " and more";
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i == 2 ? ", " : " to ") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string listed(const std::vector<std::string>& sentences) {
  std::string text;
  for (std::size_t i = 0; i < std::min(sentences.size(), most_listed); ++i)
    text += (i == 0 ? "" : "; ") + sentences[i];
  if (sentences.size() > most_listed)
    text += fmt::format("; and {} more", sentences.size() - most_listed);
  return text;
}

const std::string& file_of(const RecoveryOptions& options, const RecoveredSession& session) {
  return options.file.empty() ? session.file : options.file;
}

std::unique_ptr<SessionRecovery> make_session_recovery(SessionSite site) {
  const auto replays = built_in_replays();
  const std::string& file = file_of(site.options, site.result);
  // Of the entries that apply on any rank; those for all other files come last.
  std::int64_t kind = std::ssize(replays) * 2;
  const auto failed = attempt_to([&] {
    for (std::int64_t i = 0; i < std::ssize(replays); ++i) {
      const auto applies = replays[static_cast<std::size_t>(i)]->applies;
      if (!applies || applies(file)) kind = std::min(kind, applies ? i : std::ssize(replays) + i);
    }
  });
  agree_on_words(site.comm, failed);
  kind = site.comm.all_reduce(kind, Reduce::min);
  if (kind == std::ssize(replays) * 2)
    throw Error(Errc::enotsupport, "this build of Forebay cannot replay the logs of " + file,
                "recover it with a build that has all wings");
  return replays[static_cast<std::size_t>(kind % std::ssize(replays))]->make(std::move(site));
}

// -- texts for all ranks

void agree_on_words(const Comm& comm, const std::optional<Error>& mine) {
  const auto first = comm.all_reduce(mine ? comm.rank() : comm.size(), Reduce::min);
  if (first == comm.size()) return;
  const auto root = static_cast<Rank>(first);
  Errc code{};
  std::string message, advice;
  if (comm.rank() == root) code = mine->code(), message = mine->message(), advice = mine->advice();
  comm.broadcast(&code, sizeof code, root);
  comm.broadcast(message, root);
  comm.broadcast(advice, root);
  throw Error(code, message, advice);
}

void gather_sentences(const Comm& comm, std::vector<std::string>& sentences) {
  const auto all = comm.all_reduce(static_cast<std::int64_t>(sentences.size()), Reduce::max);
  if (all == 0 || comm.size() == 1) return;
  // The limit is a thousand in all: each rank sends its share, and at least a few.
  const std::size_t part =
      std::max<std::size_t>(most_sentences / static_cast<std::size_t>(comm.size()), 4);
  std::string packed;
  for (std::size_t i = 0; i < std::min(sentences.size(), part); ++i) packed += sentences[i] + '\0';
  if (sentences.size() > part)
    packed +=
        fmt::format("and {} more that rank {} found", sentences.size() - part, comm.rank()) + '\0';
  std::vector<std::int64_t> sizes;
  const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(packed)), sizes);
  sentences.clear();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::set<std::string> known;  // ranks that see the same file find the same
  for (std::size_t at = 0; at < text.size() && sentences.size() < most_sentences;) {
    const std::string sentence = text.c_str() + at;
    at += sentence.size() + 1;
    if (known.insert(sentence).second) sentences.push_back(sentence);
  }
}

// -- LogReaders

journal::Reader& LogReaders::get(const std::string& stem, int part) {
  return *open_.get({stem, part}, [&] { return open_log(stem, part, report_); });
}

// -- SessionRecovery

SessionRecovery::SessionRecovery(SessionSite site)
    : comm_(site.comm),
      options_(site.options),
      progress_(site.progress),
      result_(site.result),
      control_(std::move(site.control)),
      info_(std::move(site.info)) {}

void SessionRecovery::run() {
  find();
  open();
  count();
  if (options_.list_only) return;
  if (result_.job == Liveness::alive) throw_alive(info_);
  if (!is_complete()) {
    refuse_what_is_missing();
    replay(file_of(options_, result_));
  }
  result_.done = !options_.verify_only;
  if (result_.done && !options_.keep) clean_up();
}

// A rank that died before it wrote its header to a node's log has staged nothing.
void SessionRecovery::find() {
  std::vector<Mine> visible;
  std::vector<LogProblem> problems;
  const auto error = attempt_to([&] {
    pairs_ = list_logs(result_.directory, result_.session);
    for (const LogPair& pair : pairs_) {
      if (pair.is_lost) {
        lost_.push_back(pair.name.first);
      } else if (!pair.name.per_node) {
        visible.emplace_back(pair.name.first, 0, pair.stem);
      } else {
        for (const FoundLog& log : logs_of(pair, problems))
          visible.emplace_back(log.header.rank, log.header.share.part, pair.stem);
      }
    }
  });
  const bool absent = error && error->code() == Errc::enoent;
  std::array<std::int64_t, 2> facts{error ? 0 : 1, error && !absent ? 1 : 0};
  comm_.all_reduce(facts, Reduce::max);
  if (facts[0] == 0 && !info_.closed) {
    if (facts[1] != 0) agree_on_words(comm_, absent ? std::nullopt : error);
    throw Error(Errc::enoent, "the directory of the logs, " + result_.directory + ", is not there",
                result_.host.empty()
                    ? "run this where it is"
                    : "the job ran on host " + result_.host +
                          " and others: run this there, or with a rank on every node of the job");
  }
  for (const LogProblem& problem : problems)
    result_.damage.push_back(problem.path + ": " + problem.reason);
  share_out(visible);
}

// The log of rank l goes to the first rank from l on, cyclically, that sees it.
void SessionRecovery::share_out(const std::vector<Mine>& visible) {
  const std::int64_t size = comm_.size();
  const auto distance = [&](Rank l) { return ((comm_.rank() - l) % size + size) % size; };
  std::vector<std::int64_t> nearest(static_cast<std::size_t>(result_.ranks), size);
  for (const Mine& log : visible) {
    if (log.rank >= result_.ranks) {
      result_.damage.push_back(fmt::format("{}: a log of rank {} in a session of {} ranks",
                                           log.stem, log.rank, result_.ranks));
      continue;
    }
    nearest[static_cast<std::size_t>(log.rank)] = distance(log.rank);
  }
  for (const Rank l : lost_)
    if (l < result_.ranks) nearest[static_cast<std::size_t>(l)] = distance(l);
  comm_.all_reduce(nearest, Reduce::min);
  for (Rank l = 0; l < result_.ranks; ++l) {
    if (nearest[static_cast<std::size_t>(l)] == size) result_.missing.push_back(l);
  }
  for (const Mine& log : visible) {
    if (log.rank < result_.ranks &&
        nearest[static_cast<std::size_t>(log.rank)] == distance(log.rank)) {
      const bool twice = std::any_of(mine_.begin(), mine_.end(),
                                     [&](const Mine& m) { return m.rank == log.rank; });
      if (twice) {
        result_.damage.push_back(fmt::format("{}: a second log of rank {}", log.stem, log.rank));
      } else {
        mine_.push_back(log);
      }
    }
  }
}

void SessionRecovery::damaged(const Mine& log, const std::string& what) {
  const bool named = what.find(log.stem) != std::string::npos;
  if (result_.damage.size() < most_sentences) {
    result_.damage.push_back(fmt::format("log of rank {}: {}{}", log.rank,
                                         named ? "" : records_path(log.stem) + ": ", what));
  }
}

// Decides which entries count. Epochs before the last complete collective flush are in the dataset.
// If the control file lags behind a log (the machine lost power), the log is right.
void SessionRecovery::open() {
  std::array<std::int64_t, 2> most{static_cast<std::int64_t>(info_.flushed), info_.closed};
  std::optional<Error> foreign;
  for (Mine& log : mine_) {
    const auto error = attempt_to([&] {
      readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
        const journal::Header& header = reader.header();
        if (header.session != result_.session || header.rank != log.rank ||
            header.ranks != result_.ranks || (result_.has_control && header.path != info_.file)) {
          throw Error(Errc::ebadlog, fmt::format("it is a log of rank {} of {} of {}", header.rank,
                                                 header.ranks, header.path));
        }
        log.state = reader.state();
        if (!state_is_certain(log.stem, reader, readers_.report())) {
          damaged(log,
                  "one of the two states in its header is damaged; it may have been the newer "
                  "one");
        }
      });
      log.data_bytes = size_of_log(data_path(log.stem));
      most[0] = std::max(most[0], static_cast<std::int64_t>(log.state.epoch));
      most[1] = std::max<std::int64_t>(most[1], log.state.closed);
    });
    if (!error) continue;
    if (error->code() == Errc::enotsupport) foreign = error;
    log.lost = true;
    damaged(log, error->what());
  }
  // Whole logs that this build cannot read are never skipped, and so never removed.
  agree_on_words(comm_, foreign);
  comm_.all_reduce(most, Reduce::max);
  info_.flushed = static_cast<std::uint64_t>(most[0]);
  closed_ = most[1] != 0;
  if (closed_) result_.damage.clear();  // no log is needed any more, and half a pair may be gone
  Count logs = 0, finished = 0;
  for (Mine& log : mine_) {
    log.finished = !log.lost && (closed_ || log.state.epoch < info_.flushed);
    logs += log.lost ? 0 : 1;
    finished += log.finished ? 1 : 0;
  }
  result_.logs = logs;
  result_.finished_logs = finished;
  sum({&result_.logs, &result_.finished_logs});
}

// Counts entries from the record logs alone. The number of records may have to grow for writes that
// have left the log.
void SessionRecovery::count() {
  std::int64_t needs = 0;
  for (Mine& log : mine_) {
    if (log.lost || log.finished) continue;
    const auto error = attempt_to([&] {
      readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
        const journal::Scan scan = count_entries(reader);
        log.writes = scan.writes;
        my_bytes_ += scan.data_bytes;
        for (const std::string& what : scan.damage) damaged(log, what);
        if (scan.torn && result_.notes.size() < most_sentences) {
          result_.notes.push_back(fmt::format(
              "log of rank {}: it ends with bytes that are no entry: what the job was writing when "
              "it ended",
              log.rank));
        }
        if (scan.cut_entries > 0 && result_.notes.size() < most_sentences) {
          result_.notes.push_back(fmt::format(
              "log of rank {}: its last request is not complete and does not count", log.rank));
        }
      });
    });
    if (error) {
      log.lost = true;
      damaged(log, error->what());
      continue;
    }
    result_.writes += log.writes;
    needs = std::max<std::int64_t>(needs, log.writes > 0 || log.state.least_records > 0);
  }
  result_.bytes = my_bytes_;
  sum({&result_.writes, &result_.bytes});
  gather_sentences(comm_, result_.damage);
  gather_sentences(comm_, result_.notes);
  needs_file_ = comm_.all_reduce(needs, Reduce::max) != 0;
}

bool SessionRecovery::is_complete() const {
  if (closed_) return true;
  return result_.missing.empty() && result_.damage.empty() && !needs_file_;
}

void SessionRecovery::refuse_what_is_missing() const {
  const bool orphans = !result_.has_control && options_.file.empty();
  if (orphans) {
    throw Error(Errc::ebadlog,
                fmt::format("no control file names the logs of {}: they may be older than the file",
                            result_.file),
                "to replay them all the same, name the file with --file; if they are of no use, "
                "remove them");
  }
  if (!result_.missing.empty() && !options_.partial) {
    throw Error(
        Errc::ebadlog,
        fmt::format("of the {} ranks that wrote {} the logs of {} are missing in {}: rank {}",
                    result_.ranks, result_.file, result_.missing.size(), result_.directory,
                    listed(result_.missing)),
        std::string("logs may be in directories of other nodes: run with a rank on each of them") +
            (!can_be_partial() ? "" : "; or replay what there is with --partial"));
  }
  refuse_damage();
}

void SessionRecovery::refuse_damage() const {
  if (result_.damage.empty() || options_.skip_damaged) return;
  throw Error(Errc::ebadlog,
              fmt::format("the logs of {} are damaged, and nothing was replayed: {}", result_.file,
                          listed(result_.damage)),
              "replay what is whole with --skip-damaged; forebay log shows what there is");
}

std::optional<std::string> SessionRecovery::verify(const Mine& log, journal::Reader& reader,
                                                   const journal::Data& data,
                                                   std::vector<std::byte>& into) const {
  if (data.bytes > log.data_bytes) return "its data is longer than the log";
  into.resize(static_cast<std::size_t>(data.bytes));  // a lack of memory is no damage
  const auto failed = attempt_to([&] { reader.read(data, into); });
  return failed ? std::optional<std::string>(failed->what()) : std::nullopt;
}

void SessionRecovery::gather_damage(std::vector<std::string> before) {
  gather_sentences(comm_, result_.damage);
  before.insert(before.end(), result_.damage.begin(), result_.damage.end());
  result_.damage.swap(before);
}

// Logs go first: a control file without logs is recognised, logs without a control file are not.
void SessionRecovery::clean_up() {
  // Logs without a control file were kept on purpose, unless the user named their file.
  if (!result_.has_control && (closed_ || options_.file.empty())) return;
  std::optional<Error> error;
  if (control_) error = attempt_to([&] { control_->set_closed(info_.flushed + 1); });
  agree_on_words(comm_, error);
  error = attempt_to([&] {
    for (const LogPair& pair : pairs_) remove_logs(pair.stem);
  });
  agree_on_words(comm_, error);
  if (control_) error = attempt_to([&] { control_->remove(); });
  agree_on_words(comm_, error);
  result_.removed = true;
}

void SessionRecovery::sum(std::initializer_list<Count*> counts) const {
  std::vector<std::int64_t> values;
  for (const Count* count : counts) values.push_back(*count);
  comm_.all_reduce(values, Reduce::sum);
  std::size_t i = 0;
  for (Count* count : counts) *count = values[i++];
}

void SessionRecovery::tell(const char* step, Count done, Count all) const {
  if (progress_ && comm_.is_root()) progress_(step, done, all);
}

}  // namespace forebay
