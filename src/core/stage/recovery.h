// Recovers the logs of a job that ended (Hou 2023, §3.2): finds the logs, verifies them, replays
// their writes into the dataset, and removes them. It can be killed at any time; running it again
// gives the same file. docs/burst.md is the user's guide.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "comm/comm.h"
#include "method/method.h"
#include "store/staging_control.h"

namespace forebay {

struct RecoveryOptions {
  bool list_only = false;     ///< look, and count entries; also while the job runs
  bool verify_only = false;   ///< read everything, change nothing
  bool skip_damaged = false;  ///< replay what is whole, although other parts are damaged
  bool partial = false;       ///< go on, although the logs of some ranks are missing
  bool keep = false;          ///< leave logs and control file where they are
  std::string file;           ///< replay into this file instead of the one that the logs name
  std::optional<std::uint64_t> session;  ///< only this session of a directory's logs
};

/// One session: the logs of one opening of a dataset. Counts are over all ranks.
struct RecoveredSession {
  std::uint64_t session = 0;
  std::string file;       ///< the dataset
  std::string directory;  ///< of the logs
  std::string host;       ///< of the job's rank 0; empty without a control file
  std::int64_t pid = 0;
  bool has_control = false;
  Liveness job = Liveness::unknown;
  int ranks = 1;   ///< of the job
  Count logs = 0;  ///< found and readable
  std::vector<Rank> missing;
  Count finished_logs = 0;      ///< that hold nothing the dataset lacks
  Count writes = 0, bytes = 0;  ///< that the dataset may lack
  Count replayed_writes = 0, replayed_bytes = 0;
  Count skipped_writes = 0, skipped_bytes = 0;  ///< damaged, or part of a damaged request
  std::vector<std::string> damage;              ///< one sentence each; the first thousand
  std::vector<std::string> notes;               ///< worth knowing, but no damage
  double verify_seconds = 0, replay_seconds = 0;
  bool done = false;           ///< everything that there was is in the dataset
  bool removed = false;        ///< logs and control file are gone
  std::optional<Error> error;  ///< why it could not be recovered
};

struct RecoveryResult {
  std::vector<RecoveredSession> sessions;
  /// Log files that belong to no session because they cannot be read (directories only).
  std::vector<std::string> problems;
};

/// Called on rank 0 only: names the current step, and the progress of this rank's part of it.
using RecoveryProgress = std::function<void(const char* step, Count done, Count all)>;

/// Collective, with any number of ranks. `path` is a dataset (whose control file names the logs),
/// or a directory with logs of any number of sessions. Every rank gets the same result.
///
/// A log is replayed by a rank that sees it, so node-local directories work if each node has a
/// rank. All data is verified before anything is replayed. A failure of one session is in its
/// `error`, and the others go on. Errc::eperm: its job is alive. Errc::ebadlog: logs are damaged,
/// missing, of other definitions, or named by no control file. Errc::enoent: the dataset or the
/// directory is not there. Errors that concern all sessions are thrown.
///
/// Memory: a few dozen bytes per write, one log's largest write, and the buffers of the dataset.
RecoveryResult recover(const Comm& comm, const std::string& path, const RecoveryOptions& options,
                       const RecoveryProgress& progress = {});

/// Collective. Returns on all ranks what the control file of a dataset tells rank 0; nothing if
/// there is none. Errors as StagingControl::read().
std::optional<FoundStaging> shared_staging(const Comm& comm, const std::string& path);

/// Local. Returns whether a job, ended or running, has or may have staged writes of that dataset or
/// BP4 directory.
bool has_staged_writes(const std::string& path);

/// Local. Returns whether an earlier job left, or may have left, anything for meet_leftover_logs().
/// One system call if there is nothing.
bool has_leftover_logs(const std::string& path);
/// Returns whether the method asks for staged writes to be laid over what a file holds.
inline bool lays_over(const Method& method) {
  return method.recover == Recover::overlay || method.recover == Recover::overlay_partial;
}

/// Collective. Opening and creating a dataset call it before they touch the file. Handles what an
/// earlier job left: see the hint `recover` (docs/burst.md). Costs one system call on rank 0 and
/// one small broadcast if there is nothing.
///   open     recover=refuse: Errc::ebadlog; auto: replays; ignore: nothing; overlay: nothing, for
///            reading (stage/overlay.h). Errc::eperm if it is `writable` while another job
///            stages writes into it.
///   creating removes the logs of a job that ended, which are obsolete then; Errc::eexist with
///            nc_burst_buf_overwrite=disable.
void meet_leftover_logs(const Comm& comm, const std::string& path, bool writable, bool creating,
                        const Method& method);

}  // namespace forebay
