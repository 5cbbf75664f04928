// Recovers steps that waited in logs for their BP4 directory (groups/process_group/step_log).
//
// Everything is verified before anything is written: steps after a damaged one do not count either.
// Then data and md.0 are written and synchronised, and then the records in md.idx. It can be killed
// anywhere and run again, because no place in a record belongs to another step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/attempt.h"
#include "base/shortage.h"
#include "comm/agree.h"
#include "groups/format/bp_read.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/index_walk.h"
#include "groups/process_group/step_log.h"
#include "stage/session_recovery.h"
#include "storage/file.h"
#include "storage/open_files.h"

namespace forebay {

using process_group::LoggedPiece;
using process_group::walk_pieces;

namespace {

constexpr std::int64_t no_step = std::numeric_limits<std::int64_t>::max();

/// A record of md.idx, from the log of rank 0.
struct LoggedRecord {
  std::int64_t opening, step;
  Offset at;
  std::array<std::byte, bp::record_bytes> bytes;
};
using LoggedRecords = std::vector<LoggedRecord>;

auto keys_of(const LoggedRecords& records) {
  std::set<std::pair<std::int64_t, std::int64_t>> keys;
  for (const auto& record : records) keys.emplace(record.opening, record.step);
  return keys;
}

class StepRecovery final : public SessionRecovery {
 public:
  using SessionRecovery::SessionRecovery;

 private:
  journal::Scan count_entries(journal::Reader& reader) const override {
    return process_group::walk_pieces(reader, {});
  }
  void replay(const std::string& directory) override;
  bool can_be_partial() const override { return false; }  // a step has parts in all logs

  LoggedRecords logged_records();
  static bool is_in_file(const std::string& directory, const LoggedRecord& record);
  static void check_records(const std::string& directory, const LoggedRecords& records);
  std::int64_t verify_steps(const LoggedRecords& records);
  void write_steps(const std::string& directory, const LoggedRecords& records);
  static void show_steps(const std::string& directory, const LoggedRecords& records);

  std::optional<Error> shortage_;  // for what this rank verifies
};

void StepRecovery::replay(const std::string& directory) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  if (!result_.missing.empty())
    throw Error(Errc::ebadlog,
                "a step has parts in the logs of all ranks, and some of these are missing",
                "run this with a rank on each node of the job");
  auto before = std::exchange(result_.damage, {});  // is on all ranks already
  LoggedRecords records = logged_records();
  std::optional<Error> error;
  if (comm_.is_root()) error = attempt_to([&] { check_records(directory, records); });
  agree_on_words(comm_, error);
  const std::int64_t first_bad = comm_.all_reduce(verify_steps(records), Reduce::min);
  agree_on_words(comm_, shortage_);  // that is no damage, after which logs may be removed
  gather_damage(std::move(before));
  result_.verify_seconds = seconds_since(start);
  refuse_damage();
  if (options_.verify_only) return;
  std::erase_if(records, [&](const LoggedRecord& record) { return record.step >= first_bad; });
  start = Clock::now();
  error = attempt_to([&] { write_steps(directory, records); });
  agree_on_words(comm_, error);
  if (comm_.is_root()) error = attempt_to([&] { show_steps(directory, records); });
  agree_on_words(comm_, error);
  sum({&result_.replayed_writes, &result_.replayed_bytes, &result_.skipped_writes,
       &result_.skipped_bytes});
  result_.replay_seconds = seconds_since(start);
}

/// Collective. Returns the records in rank 0's log, in their order.
LoggedRecords StepRecovery::logged_records() {
  LoggedRecords records;
  const auto first = std::find_if(mine_.begin(), mine_.end(),
                                  [](const Mine& log) { return log.rank == 0 && !log.lost; });
  std::optional<Error> error;
  if (first != mine_.end() && !first->finished) {
    bool lost = false;
    error = attempt_to([&] {
      readers_.with(first->stem, first->part, [&](journal::Reader& reader) {
        walk_pieces(reader, [&](auto, const auto& piece, const journal::Data& data) {
          if (!piece || piece->file != LoggedPiece::index || data.bytes != bp::record_bytes) return;
          LoggedRecord record{piece->opening, piece->step, piece->at, {}};
          // All steps from here on are lost; verify_steps() reports it.
          lost = lost || attempt_to([&] { reader.read(data, record.bytes); }).has_value();
          if (!lost) records.push_back(record);
        });
      });
    });
  }
  agree_on_words(comm_, error);
  const auto owner =
      comm_.all_reduce(first != mine_.end() ? comm_.rank() : comm_.size(), Reduce::min);
  if (owner == comm_.size()) return {};
  comm_.broadcast(records, static_cast<Rank>(owner));
  return records;
}

/// Returns whether md.idx already has a record of this step. The group of rank 0 decides, because
/// another step may have the same place.
bool StepRecovery::is_in_file(const std::string& directory, const LoggedRecord& record) {
  Report report;
  const auto told = bp::parse_record(record.bytes, false);
  const auto group = process_group::IndexWalk(directory, 0, report).first_group(told.groups);
  if (!group) return false;
  File data(directory + "/data.0", false, 0, report);
  const auto mark = process_group::mark_at(data, group->place, told.step);
  return mark && std::cmp_equal(mark->opening, record.opening);
}

/// On rank 0. Checks that the records continue the file, which has no other records in their
/// places.
void StepRecovery::check_records(const std::string& directory, const LoggedRecords& records) {
  Report report;
  File index(directory + "/md.idx", false, 0, report);
  Offset end = index.size() / bp::record_bytes * bp::record_bytes;
  for (const LoggedRecord& record : records) {
    const auto refuse = [&](const std::string& why, const std::string& advice) {
      throw Error(Errc::ebadlog,
                  fmt::format("{}: the logs have step {}, {}", directory, record.step - 1, why),
                  advice);
    };
    const bool fits = record.at >= bp::head_bytes && record.at % bp::record_bytes == 0 &&
                      record.step > 0 &&
                      std::cmp_equal(bp::parse_record(record.bytes, false).step, record.step);
    if (!fits) refuse("with a record that is none", "no build of Forebay wrote it");
    if (record.at > end)
      refuse("and the file lacks those before", "it is not the file that the job wrote");
    std::array<std::byte, bp::record_bytes> there{};
    if (record.at < end) {
      index.read_at(record.at, there);
      if (there != record.bytes || !is_in_file(directory, record))
        refuse("and the file another one in its place",
               "it was written on without them: if they are of no use, remove them");
    }
    end = std::max(end, record.at + bp::record_bytes);
  }
}

/// Reads all data of the steps in this rank's logs. Returns the first step that is damaged.
std::int64_t StepRecovery::verify_steps(const LoggedRecords& records) {
  const auto keys = keys_of(records);
  std::int64_t first_bad = no_step;
  Count of_no_step = 0;
  std::vector<std::byte> bytes;
  for (const Mine& log : mine_) {
    if (log.finished) continue;
    if (log.lost) {
      first_bad = 0;
      continue;
    }
    std::int64_t last = 0;  // what is missing after a piece belongs to its step or to later ones
    std::uint64_t expected = log.state.first_sequence;
    const auto failed = attempt_to([&] {
      readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
        walk_pieces(reader, [&](auto sequence, const auto& piece, const journal::Data& data) {
          if (sequence != expected) first_bad = std::min(first_bad, last);
          expected = sequence + 1;
          std::optional<std::string> problem;
          if (!piece || data.bytes > process_group::StepLog::most_piece) {
            problem = "it is no part of a step";
            first_bad = std::min(first_bad, last);
          } else if (!keys.contains({piece->opening, piece->step})) {
            if (piece->file == LoggedPiece::index) {
              first_bad = std::min(first_bad, piece->step);
              damaged(log, fmt::format("entry {}: the record of a step, which cannot be read, or "
                                       "which follows one of those",
                                       sequence));
            }
            last = std::max(last, piece->step);
            ++of_no_step;
            return;
          } else {
            last = std::max(last, piece->step);
            problem = verify(log, reader, data, bytes);
            if (problem) first_bad = std::min(first_bad, piece->step);
          }
          if (problem) {
            damaged(log, fmt::format("entry {}: {}", sequence, *problem));
            ++result_.skipped_writes;
            result_.skipped_bytes += data.bytes;
          }
          verified_ += data.bytes;
          tell("verifying", verified_, my_bytes_);
        });
      });
    });
    if (failed && is_shortage(*failed)) {
      shortage_ = failed;
    } else if (failed) {
      damaged(log, failed->what());
      first_bad = 0;
    }
  }
  of_no_step = comm_.all_reduce(of_no_step, Reduce::sum);
  if (of_no_step > 0)
    result_.notes.push_back(fmt::format(
        "{} writes of a step that was not ended, or not whole, do not count", of_no_step));
  return first_bad;
}

void StepRecovery::write_steps(const std::string& directory, const LoggedRecords& records) {
  const auto keys = keys_of(records);
  Report report;
  std::map<std::int32_t, std::unique_ptr<File>> files;
  // Syncs and closes all of them. Returns whether there were any.
  const auto finish = [&] {
    const bool any = !files.empty();
    for (auto& [number, file] : files) {
      file->sync();
      file->close();
    }
    files.clear();
    return any;
  };
  std::vector<std::byte> bytes;
  Count replayed = 0;
  for (const Mine& log : mine_) {
    if (log.lost || log.finished) continue;
    readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
      walk_pieces(reader, [&](auto, const auto& piece, const journal::Data& data) {
        if (!piece || piece->file == LoggedPiece::index ||
            !keys.contains({piece->opening, piece->step}))
          return;
        bytes.resize(static_cast<std::size_t>(data.bytes));
        reader.read(data, bytes);
        if (!files.contains(piece->file)) {
          auto file = std::make_unique<File>(directory + "/" + piece->file_name(), true,
                                             comm_.rank(), report);
          if (files.size() >= most_open_files()) finish();
          // The file exists: whoever logged a step had opened it.
          with_descriptor([&] { file->ensure_open(); }, finish);
          files[piece->file] = std::move(file);
        }
        files[piece->file]->write_at(piece->at, std::span<const std::byte>(bytes));
        ++result_.replayed_writes;
        result_.replayed_bytes += data.bytes;
        tell("replaying", replayed += data.bytes, my_bytes_);
      });
    });
  }
  finish();
}

/// On rank 0. Checks first that all parts of the records exist: a machine that went down may have
/// lost the end of a log, and nothing else shows that. Then writes the records.
void StepRecovery::show_steps(const std::string& directory, const LoggedRecords& records) {
  if (records.empty()) return;
  Report report;
  process_group::IndexWalk walk(directory, 0, report);
  for (const LoggedRecord& record : records) {
    const bp::StepRecord told = bp::parse_record(record.bytes, false);
    const auto found = walk.step_at(told.groups, told.step, true);
    if (!found || found->end != told.end)
      throw Error(Errc::ebadlog,
                  fmt::format("{}: the logs lack parts of step {}", directory, record.step - 1),
                  "one of them has lost its end, as a machine does that goes down");
  }
  File index(directory + "/md.idx", true, 0, report);
  for (const LoggedRecord& record : records)
    index.write_at(record.at, std::span<const std::byte>(record.bytes));
  index.sync();
  index.close();
}

/// Only directories have steps in logs.
bool has_logged_steps(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) && process_group::has_bp_files(path);
}

std::unique_ptr<SessionRecovery> make_step_recovery(SessionSite site) {
  return std::make_unique<StepRecovery>(std::move(site));
}

}  // namespace

extern const ReplayEntry step_replay{has_logged_steps, make_step_recovery};

}  // namespace forebay
