// What the logs of a job hold for a file at one moment, for a program that only reads the file
// (wish in Hou 2023, §3.2.3). The job may run.
//
// A snapshot is taken before the file is opened. Every write that was staged before is then in the
// snapshot, or was in the file when the file was opened. All logs of a snapshot are of one epoch,
// for no rank dropped its log between the first look at the control file and the last. All ranks
// have the same writes: rank 0 finds out where logs end.
//
// The job may drop its logs at any time, and write over what they held. A value that comes from a
// log is good if its checksum holds and the log's state is afterwards what it was.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "burst/staged_reads.h"
#include "comm/comm.h"
#include "stage/session_recovery.h"
#include "store/staging_control.h"

namespace forebay::burst {

class Snapshot {
 public:
  /// `path`: of the file. `partial`: without logs that some rank does not see. `most_bytes`: of
  /// memory for the records of all logs.
  Snapshot(const Comm& comm, std::string path, bool partial, Count most_bytes)
      : comm_(comm), path_(std::move(path)), partial_(partial), most_bytes_(most_bytes) {}

  /// Collective. Looks at all logs that there are now. Each rank reads the records of all of them,
  /// and no data. Errc::ebadlog if logs are damaged, missing, of other definitions, or were dropped
  /// meanwhile; Errc::enomem if the records need more than `most_bytes`.
  void take(const Schema& schema);

  // All of these are local, and equal on all ranks but for overlay() and is_outdated().

  /// Returns whether reads need neither overlay() nor is_outdated().
  bool empty() const { return writes_ == 0 && (!may_change_ || logs_.empty()); }
  bool found() const { return found_; }            ///< there was a control file
  bool may_change() const { return may_change_; }  ///< its job may run
  Count records() const { return records_; }  ///< the file has at least so many, with the writes
  Count writes() const { return writes_; }
  std::size_t logs() const { return logs_.size(); }

  /// Copies to the memory of a read what logs have of it: later writes of a rank win, and writes of
  /// higher ranks. Returns whether there was anything. Errc::enotsupport for a coarser level.
  bool overlay(const Schema& schema, Request& read);
  /// Returns whether a log was dropped since it was taken: any log; or the first one, or one that
  /// overlay() has used since the last call.
  bool is_outdated(bool any);

 private:
  struct Log {
    Rank rank = 0;
    int part = 0;
    std::string stem;
    std::uint64_t serial = 0;  ///< of its state
    bool used = false;
    StagedWrites writes;
  };

  void find(const StagingInfo& info);
  void read_all(const Schema& schema, std::uint64_t flushed, std::vector<std::uint64_t>& bounds);
  void read_like_root(const Schema& schema, const std::vector<std::uint64_t>& bounds);
  std::uint64_t load(Log& log, const Schema& schema, std::optional<std::uint64_t> end);
  void add_records(const Log& log, const staging::State& state, const Schema& schema);
  void verify(const FoundStaging& before);
  bool has_changed(Log& log);
  static Count bytes_of(const Log& log);

  const Comm& comm_;
  std::string path_;
  bool partial_;
  Count most_bytes_;

  std::unique_ptr<LogReaders> readers_;
  std::vector<Log> logs_;  // by rank
  bool found_ = false, may_change_ = false;
  Count records_ = 0, writes_ = 0, bytes_ = 0;
};

}  // namespace forebay::burst
