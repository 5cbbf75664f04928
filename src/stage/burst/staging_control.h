// The control file of a staged dataset, <dataset>.staging: tells everybody who opens the dataset
// that some of its writes are still in logs elsewhere (D3 §3.2), whose they are, and up to where
// they are in the dataset already. docs/burst.md shows one.
//
// It is text, for people too. The job that stages holds a lock on it until it ends, however it
// ends, so that a lock that can be had means that the job is dead. One line of fixed length is
// rewritten while the job runs; a checksum in it covers everything. Rank 0 alone uses it; nothing
// here is collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/types.h"

namespace forebay {

/// What a control file tells.
struct StagingInfo {
  std::uint64_t session = 0;  ///< random; names the logs
  int ranks = 1;              ///< ranks that have a log
  bool per_node = false;      ///< ranks of a node share a pair of log files
  std::string directory;      ///< of the logs, absolute; on each node its own, perhaps
  std::string file;           ///< the dataset, absolute
  std::string host;           ///< of rank 0, for people; filled in by create()
  std::int64_t pid = 0;       ///< of rank 0, for people; filled in by create()
  /// Collective flushes that are complete: a log whose state has a lower epoch holds nothing that
  /// the dataset lacks.
  std::uint64_t flushed = 0;
  bool closed = false;  ///< everything is in the dataset; logs may be missing already
};

/// Whether the job that made a control file still runs.
enum class Liveness {
  alive,   ///< its lock is held
  dead,    ///< it is not
  unknown  ///< this file system, or that of the job's node, has no locks
};
/// What the job does, for people: "runs", "ended", "unknown".
const char* name_of(Liveness job);

/// A control file that was found.
struct FoundStaging {
  StagingInfo info;
  Liveness job = Liveness::unknown;
  /// The job ended while it made the control file: nothing was staged yet, and `info` is empty.
  bool begun_only = false;
};

class StagingControl {
 public:
  /// The one absolute path of a dataset, whatever symbolic links lead to it: logs and control file
  /// are named by it.
  static std::string canonical(const std::string& dataset);
  /// The control file of a dataset, beside the file itself.
  static std::string path_of(const std::string& dataset);

  /// Makes and locks the control file of info.file. Errc::eperm if another job that is alive has
  /// one, Errc::ebadlog if a job left one behind (one that tells nothing is overwritten), and the
  /// system's errors. Where there are no locks it goes without.
  static std::unique_ptr<StagingControl> create(const StagingInfo& info);

  /// Locks a control file that a job left behind, to do its work. Nothing if there is none.
  /// Errc::eperm if the job is alive; Errc::ebadlog for a damaged file.
  static std::unique_ptr<StagingControl> take_over(const std::string& path);

  /// Nothing if there is no such file (which costs one system call). Errc::ebadlog for one that is
  /// damaged, with the directory of the logs if that can be read. At most 64 KiB are read.
  static std::optional<FoundStaging> read(const std::string& path);

  ~StagingControl();  ///< unlocks; the file stays
  StagingControl(const StagingControl&) = delete;
  StagingControl& operator=(const StagingControl&) = delete;

  const std::string& path() const { return path_; }
  const StagingInfo& info() const { return info_; }
  /// Whether the job ended while it made the file (take_over only).
  bool begun_only() const { return begun_only_; }

  /// Says that so many collective flushes are complete: one pwrite within one page, so that a
  /// killed process leaves the old line or the new one.
  void set_flushed(std::uint64_t epoch) { write_progress(epoch, info_.closed); }
  /// Says that everything is in the dataset; before the first log is removed.
  void set_closed(std::uint64_t epoch) { write_progress(epoch, true); }
  /// Removes the file and unlocks it; after the last log. It is no error if it is gone.
  void remove();

 private:
  StagingControl(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void write_whole();
  void write_progress(std::uint64_t epoch, bool closed);

  std::string path_;
  int fd_;
  StagingInfo info_;
  std::string tail_;  ///< the lines after the progress line
  bool locked_ = false, begun_only_ = false;
};

/// "host h, process p", of the job that made a control file.
std::string owner_of(const StagingInfo& info);

/// What an error says of a job that is alive and stages writes into `info.file`.
[[noreturn]] void throw_alive(const StagingInfo& info);

}  // namespace forebay
