// The control file of a staged dataset, <dataset>.staging. It tells anybody who opens the dataset
// that some of its writes are still in logs elsewhere (Hou 2023, §3.2), to which job they belong,
// and which of them are already in the dataset. docs/burst.md shows one.
//
// It is readable text. The staging job holds a lock on it until it ends in any way. So if the lock
// is free, the job is dead. One line of fixed length is rewritten while the job runs; a checksum in
// it covers everything. Only rank 0 uses the file; nothing here is collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/types.h"

namespace forebay {

/// The content of a control file.
struct StagingInfo {
  std::uint64_t session = 0;  ///< random; names the logs
  int ranks = 1;              ///< ranks that have a log
  bool per_node = false;      ///< ranks of a node share a pair of log files
  std::string directory;      ///< of the logs, absolute; each node may have its own
  std::string file;           ///< the dataset, absolute
  std::string host;           ///< of rank 0, for users; filled in by create()
  std::int64_t pid = 0;       ///< of rank 0, for users; filled in by create()
  /// Number of completed collective flushes. A log whose state has a lower epoch holds nothing that
  /// the dataset lacks.
  std::uint64_t flushed = 0;
  bool closed = false;  ///< everything is in the dataset; logs may already be missing
};

/// Whether the job of a control file is still running.
enum class Liveness {
  alive,   ///< its lock is held
  dead,    ///< its lock is free
  unknown  ///< this file system, or that of the job's node, has no locks
};
/// The state of the job, for users: "runs", "ended", "unknown".
const char* name_of(Liveness job);

/// A control file that exists.
struct FoundStaging {
  StagingInfo info;
  Liveness job = Liveness::unknown;
  /// The job ended while it created the control file: nothing was staged yet, and `info` is empty.
  bool begun_only = false;
};

class StagingControl {
 public:
  /// The absolute path of a dataset with symbolic links resolved, which names logs and control
  /// file.
  static std::string canonical(const std::string& dataset);
  /// The control file of a dataset, beside the file itself.
  static std::string path_of(const std::string& dataset);

  /// Creates and locks the control file of info.file. Errc::eperm if another live job has one,
  /// Errc::ebadlog if a dead job left one (an empty one is overwritten), and system errors. Works
  /// without a lock if there are none.
  static std::unique_ptr<StagingControl> create(const StagingInfo& info);

  /// Locks the control file of a dead job, to do that job's work. Nothing if there is none.
  /// Errc::eperm if the job is alive; Errc::ebadlog for a damaged file.
  static std::unique_ptr<StagingControl> take_over(const std::string& path);

  /// Nothing if there is no such file (which costs one system call). Errc::ebadlog for a damaged
  /// one, with the directory of the logs if that is readable. Reads at most 64 KiB.
  static std::optional<FoundStaging> read(const std::string& path);

  ~StagingControl();  ///< unlocks; the file stays
  StagingControl(const StagingControl&) = delete;
  StagingControl& operator=(const StagingControl&) = delete;

  const std::string& path() const { return path_; }
  const StagingInfo& info() const { return info_; }
  /// Returns whether the job ended while it created the file (only for take_over).
  bool begun_only() const { return begun_only_; }

  /// Records the number of completed collective flushes: one pwrite within one page, so that a
  /// killed process leaves the old line or the new one.
  void set_flushed(std::uint64_t epoch) { write_progress(epoch, info_.closed); }
  /// Waits until the file is on its device. After a failure the next call writes the whole file
  /// again before it waits, since the system forgets what it could not store.
  void sync();
  /// Records that everything is in the dataset; call it before removing the first log.
  void set_closed(std::uint64_t epoch) { write_progress(epoch, true); }
  /// Removes and unlocks the file; call it after removing the last log. No error if it is gone.
  void remove();

 private:
  StagingControl(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void write_whole();
  std::string text() const;
  void write_progress(std::uint64_t epoch, bool closed);

  std::string path_;
  int fd_;
  StagingInfo info_;
  std::string tail_;  ///< the lines after the progress line
  bool locked_ = false, begun_only_ = false;
  bool sync_failed_ = false;
};

/// "host h, process p" of the job of a control file.
std::string owner_of(const StagingInfo& info);

/// Throws the error for a live job that stages writes into `info.file`.
[[noreturn]] void throw_alive(const StagingInfo& info);

}  // namespace forebay
