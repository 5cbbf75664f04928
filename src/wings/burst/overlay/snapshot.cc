#include "burst/overlay/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "burst/fingerprint.h"
#include "burst/log/staging_writer.h"
#include "burst/log/walk_writes.h"
#include "burst/recovery/recovery_writes.h"
#include "comm/agree.h"
#include "store/journal_files.h"

namespace forebay::burst {

namespace {

[[noreturn]] void throw_changed(const std::string& path) {
  throw Error(
      Errc::ebadlog,
      "the job that stages its writes of " + path + " has emptied logs while they were read",
      "read again, or call ncmpi_sync first; a job that flushes all the time can be read "
      "with recover=ignore, as far as it has flushed");
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& what) {
  throw Error(Errc::ebadlog, "a log of " + path + " is damaged: " + what,
              "forebay log shows what there is; forebay recover --skip-damaged brings in what is "
              "whole, and recover=ignore opens the file as it is");
}

}  // namespace

// With the lists of each variable's writes, which the first read makes.
Count Snapshot::bytes_of(const Log& log) {
  return log.writes.table.bytes() + 32 * static_cast<Count>(log.writes.table.size());
}

void Snapshot::take(const Schema& schema) {
  logs_.clear();
  found_ = may_change_ = false;
  records_ = writes_ = bytes_ = 0;
  readers_ = std::make_unique<LogReaders>();
  const auto before = shared_staging(comm_, path_);
  found_ = before.has_value();
  if (!before || before->begun_only || before->info.closed) return;
  may_change_ = before->job != Liveness::dead;
  find(before->info);
  std::vector<std::uint64_t> bounds;
  if (comm_.is_root()) read_all(schema, before->info.flushed, bounds);
  comm_.broadcast(bounds);
  if (!comm_.is_root()) read_like_root(schema, bounds);
  verify(*before);
}

/// Collective. Finds the logs that all ranks see.
void Snapshot::find(const StagingInfo& info) {
  if (info.ranks > most_bytes_ / 8)
    throw Error(Errc::enomem, fmt::format("{} ranks stage writes of {}", info.ranks, path_),
                "raise buffer_limit, or bring the writes in with forebay recover");
  std::vector<std::int64_t> seen(static_cast<std::size_t>(info.ranks), 0);
  std::vector<LogProblem> problems;
  std::vector<LogPair> pairs;
  const auto error = attempt_to([&] { pairs = list_logs(info.directory, info.session); });
  if (error && error->code() != Errc::enoent) throw *error;
  const auto see = [&](Rank rank, const std::string& stem) {
    if (rank < 0 || rank >= info.ranks || seen[static_cast<std::size_t>(rank)] != 0)
      throw_damaged(path_, fmt::format("{}: one more log of rank {}", stem, rank));
    seen[static_cast<std::size_t>(rank)] = 1;
  };
  for (const LogPair& pair : pairs) {
    if (pair.is_lost) see(pair.name.first, pair.stem);
    for (const FoundLog& log : logs_of(pair, problems)) {
      if (log.header.ranks != info.ranks || log.header.path != info.file)
        throw_damaged(path_, records_path(log.stem) + ": it is of another file or job");
      see(log.header.rank, log.stem);
      logs_.push_back({log.header.rank, log.header.share.part, log.stem, 0, false, {}});
    }
  }
  if (!problems.empty()) throw_damaged(path_, problems[0].path + ": " + problems[0].reason);
  comm_.all_reduce(seen, Reduce::min);
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < info.ranks; ++rank)
    if (seen[static_cast<std::size_t>(rank)] == 0) missing.push_back(rank);
  if (!missing.empty() && !partial_) {
    throw Error(Errc::ebadlog,
                fmt::format("of the {} ranks that stage writes of {} the logs of {} in {} are not "
                            "seen by all ranks that read: rank {}",
                            info.ranks, path_, missing.size(), info.directory, listed(missing)),
                "read where all logs can be seen (the job ran on " + owner_of(info) +
                    "); or go on without these logs (recover=overlay-partial) or without any "
                    "(recover=ignore)");
  }
  std::erase_if(logs_,
                [&](const Log& log) { return seen[static_cast<std::size_t>(log.rank)] == 0; });
  std::sort(logs_.begin(), logs_.end(), [](const Log& a, const Log& b) { return a.rank < b.rank; });
}

/// Rank 0 reads all logs. `bounds` gets the serial of each log's state, and one past the sequence
/// number of its last write; 0: nothing of the log counts. What counts is what a recovery replays.
void Snapshot::read_all(const Schema& schema, std::uint64_t flushed,
                        std::vector<std::uint64_t>& bounds) {
  std::vector<staging::State> states;
  bool closed = false;
  for (const Log& log : logs_) {
    readers_->with(log.stem, log.part, [&](journal::Reader& reader) {
      if (!state_is_certain(log.stem, reader, readers_->report()))
        throw_damaged(
            path_, records_path(log.stem) + ": one of the two states in its header is not whole");
      states.push_back(reader.state());
    });
    flushed = std::max(flushed, states.back().epoch);
    closed = closed || states.back().closed;
  }
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    Log& log = logs_[i];
    log.serial = states[i].serial;
    bounds.push_back(log.serial);
    const bool counts = !closed && states[i].epoch >= flushed;
    bounds.push_back(counts ? load(log, schema, std::nullopt) : 0);
    add_records(log, states[i], schema);
  }
}

void Snapshot::read_like_root(const Schema& schema, const std::vector<std::uint64_t>& bounds) {
  if (bounds.size() != 2 * logs_.size()) throw_changed(path_);
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    Log& log = logs_[i];
    staging::State state;
    readers_->with(log.stem, log.part, [&](journal::Reader& reader) { state = reader.state(); });
    log.serial = bounds[2 * i];
    const std::uint64_t end = bounds[2 * i + 1];
    if (state.serial != log.serial || (end > 0 && load(log, schema, end) != end))
      throw_changed(path_);
    add_records(log, state, schema);
  }
}

/// Reads the records of a log, those before `end` if there is one, and checks them. Returns one
/// past the sequence number of the last one; 0: there is none.
std::uint64_t Snapshot::load(Log& log, const Schema& schema, std::optional<std::uint64_t> end) {
  std::uint64_t next = 0;
  journal::Scan scan;
  const Count data_bytes = size_of_log(data_path(log.stem));
  readers_->with(log.stem, log.part, [&](journal::Reader& reader) {
    const std::uint64_t fingerprint = schema_fingerprint(schema);
    const auto visit = [&](std::uint64_t sequence, const staging::Write& write,
                           const std::shared_ptr<const RunList>& runs) {
      if (end && sequence >= *end) return;
      if (reader.state().schema != fingerprint)
        throw Error(Errc::ebadlog,
                    records_path(log.stem) +
                        ": its writes are of other definitions (dimensions, "
                        "variables, types) than " +
                        path_ + " has",
                    "open the file anew; if that fails, the file was replaced, and recover=ignore "
                    "opens it as it is");
      auto problem = check_write(schema, write, runs.get());
      if (!problem && write.bytes > data_bytes) problem = "its data is longer than the log";
      if (problem)
        throw_damaged(path_, fmt::format("{}: entry {}, of variable {}: {}", records_path(log.stem),
                                         sequence, write.var, *problem));
      log.writes.table.add(write, {runs});
      next = sequence + 1;
      if (bytes_ + bytes_of(log) > most_bytes_)
        throw Error(Errc::enomem,
                    fmt::format("the records of the staged writes of {} need more than {} bytes of "
                                "memory on each rank that reads",
                                path_, most_bytes_),
                    "raise buffer_limit, or bring the writes in with forebay recover");
    };
    scan = staging::walk_writes(reader, visit);
  });
  if (!end && !scan.damage.empty())
    throw_damaged(path_, records_path(log.stem) + ": " + scan.damage[0]);
  bytes_ += bytes_of(log);
  return next;
}

void Snapshot::add_records(const Log& log, const staging::State& state, const Schema& schema) {
  const Count most = max_records(schema.version, record_size(schema));
  if (state.least_records > most)
    throw_damaged(path_, records_path(log.stem) + ": more records than the file can have");
  records_ = std::max({records_, state.least_records, log.writes.table.last_record()});
  writes_ += static_cast<Count>(log.writes.table.size());
}

/// No log was dropped since the control file was looked at.
void Snapshot::verify(const FoundStaging& before) {
  for (Log& log : logs_)
    if (has_changed(log)) throw_changed(path_);
  if (!comm_.is_root()) return;
  const auto now = StagingControl::read(StagingControl::path_of(path_));
  if (!now || now->info.session != before.info.session ||
      now->info.flushed != before.info.flushed || now->info.closed)
    throw_changed(path_);
}

bool Snapshot::has_changed(Log& log) {
  bool changed = true;
  attempt_to([&] {
    readers_->with(log.stem, log.part, [&](journal::Reader& reader) {
      changed = reader.state_now().serial != log.serial ||
                size_of_log(records_path(log.stem)) == 0;  // removed, and open here
    });
  });
  return changed;
}

bool Snapshot::overlay(const Schema& schema, Request& read) {
  bool any = false;
  for (Log& log : logs_) {
    if (log.writes.table.empty()) continue;
    if (read.level != 0) {
      constexpr Offset all = std::numeric_limits<Offset>::max();
      if (log.writes.meeting(schema, read.var, 0, all).empty()) continue;
      throw Error(Errc::enotsupport,
                  "writes of variable " + schema.vars[static_cast<std::size_t>(read.var)].name +
                      " are staged, and are in no coarser level yet",
                  "read the variable itself, or open the file with recover=ignore");
    }
    const std::array<StagedWrites*, 1> staged{&log.writes};
    const auto load = [&](const staging::WriteFacts& write, std::span<std::byte> into) {
      log.used = true;
      readers_->with(log.stem, log.part,
                     [&](journal::Reader& reader) { staging::read_write(reader, write, into); });
    };
    any = burst::overlay(staged, schema, read, load) || any;
  }
  return any;
}

// A flush by all ranks, and new definitions, change the state of all logs: so of the first one.
bool Snapshot::is_outdated(bool any) {
  bool outdated = false;
  for (Log& log : logs_) {
    const bool counts = any || log.used || &log == logs_.data();
    log.used = false;
    if (counts && !outdated) outdated = has_changed(log);
  }
  return outdated;
}

}  // namespace forebay::burst
