// Finishes what a job that ended left in logs (D3 §3.2): finds the logs, verifies them, carries
// their writes out in the dataset, and removes them. Whatever kills it, running it again gives the
// same file. docs/burst.md tells people about it.
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
#include "stage/burst/staging_control.h"

namespace forebay {

struct RecoveryOptions {
  bool list_only = false;     ///< look, and count entries; also while the job runs
  bool verify_only = false;   ///< read everything, change nothing
  bool skip_damaged = false;  ///< replay what is whole though other parts are damaged
  bool partial = false;       ///< go on though the logs of some ranks are missing
  bool keep = false;          ///< leave logs and control file where they are
  std::string file;           ///< replay into this file instead of the one that the logs name
  std::optional<std::uint64_t> session;  ///< of a directory's logs, those of this session only
};

/// One session: the logs of one opening of a dataset. Counts are of all ranks.
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
  Count finished_logs = 0;      ///< hold nothing that the dataset lacks
  Count writes = 0, bytes = 0;  ///< that the dataset may lack
  Count replayed_writes = 0, replayed_bytes = 0;
  Count skipped_writes = 0, skipped_bytes = 0;  ///< damaged, or of a request that is
  std::vector<std::string> damage;              ///< one sentence each; the first thousand
  std::vector<std::string> notes;               ///< what is worth knowing and no damage
  double verify_seconds = 0, replay_seconds = 0;
  bool done = false;           ///< everything that there was is in the dataset
  bool removed = false;        ///< logs and control file are gone
  std::optional<Error> error;  ///< why it could not be recovered
};

struct RecoveryResult {
  std::vector<RecoveredSession> sessions;
  /// Log files that belong to no session, since they cannot be read (directories only).
  std::vector<std::string> problems;
};

/// Called on rank 0 only: what is going on, and how far this rank's part of it has come.
using RecoveryProgress = std::function<void(const char* step, Count done, Count all)>;

/// Collective, with any number of ranks. `path` is a dataset (whose control file tells where the
/// logs are), or a directory with logs of any number of sessions. Every rank gets the same result.
///
/// A log is replayed by a rank that sees it, so that directories of nodes are no trouble as long as
/// each node has a rank. All data is verified before anything is replayed. What is wrong with one
/// session is in its `error` (Errc::eperm: its job is alive; ebadlog: logs are damaged, missing, of
/// other definitions, or named by no control file; enoent: the dataset or the directory is not
/// there) and the others go on. Errors that concern all of it are thrown.
///
/// Memory: a few dozen bytes for a write, one log's largest write, and the buffers of the dataset.
RecoveryResult recover(const Comm& comm, const std::string& path, const RecoveryOptions& options,
                       const RecoveryProgress& progress = {});

/// Local. Whether a job that ended, or still runs, has staged writes of that dataset, or BP4
/// directory, or may have.
bool has_staged_writes(const std::string& path);

/// Local. Whether an earlier job left anything that meet_leftover_logs() has to deal with; also
/// where that cannot be told. One system call where there is nothing.
bool has_leftover_logs(const std::string& path);
/// Collective; opening and creating a dataset call it before they touch the file. Deals with what
/// an earlier job left: see the hint `recover` (docs/burst.md). Costs one system call on rank 0 and
/// one small broadcast where there is nothing.
///   open     recover=refuse: Errc::ebadlog; auto: replays; ignore: nothing. Errc::eperm for
///            `writable` while another job stages writes into it.
///   creating removes the logs of a job that ended, which are obsolete then; with
///            nc_burst_buf_overwrite=disable Errc::eexist.
void meet_leftover_logs(const Comm& comm, const std::string& path, bool writable, bool creating,
                        const Method& method);

}  // namespace forebay
