// Stage `burst`: writes are kept in a log on fast storage and reach the file in large batches (Hou
// 2023, §3.2).
//
// A write is staged when its call returns: its record and data are in the log files, so they
// survive if the process is killed. Staged writes reach the file when the dataset is flushed,
// synchronised, redefined or closed, when another rank's staged data may be read, and when the
// log's device is full. On request, a thread also writes them when there are enough of them, or
// when the oldest one is old enough. A later write of a rank wins over an earlier one. Only
// completed collective flushes order writes of different ranks.
//
// In a collective flush, all ranks write their batches and agree on success, the number of records
// is written, and the host records the end of the epoch. From then on no log of that epoch is
// replayed, and each rank drops its own. In a sync, the last two steps come after the file is on
// its device. If that fails, logs are kept, and flushes fail until a sync succeeds or the file is
// closed. Then a recovery can bring in what the logs have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "array/schema.h"
#include "base/byte_file.h"
#include "base/report.h"
#include "burst/flush.h"
#include "comm/comm.h"
#include "layout/layout.h"
#include "stage/stage.h"

namespace forebay::burst {

/// What the stage asks of its logs and of the dataset (host.cc).
class Host {
 public:
  virtual ~Host() = default;
  /// Local. Opens a log file for reading and writing; `create` empties it.
  virtual std::unique_ptr<ByteFile> open_log(const std::string& path, bool create) = 0;
  virtual void remove_log(const std::string& path) = 0;  ///< local
  /// Local. A rank's log is no longer kept; recovery neither replays it nor reports it missing.
  virtual void lose_log(const std::string& stem) = 0;
  /// Collective. The logs exist and are empty; after a crash from now on they are to be replayed.
  virtual void logs_begin() = 0;
  /// Collective. Everything is in the file, so logs may be missing from now on.
  virtual void logs_closing(std::uint64_t epoch) = 0;
  /// Collective. All logs are removed.
  virtual void logs_end() = 0;
  /// Collective. Ranks agree on the number of records, including those of staged writes.
  virtual void before_flush() = 0;
  /// Collective. Staged writes are in the file; now the metadata that shows them is written.
  virtual void after_flush() = 0;
  /// Collective. Staged writes of epochs before `epoch` are never replayed from now on.
  virtual void epoch_begins(std::uint64_t epoch) = 0;
  /// Local. What this rank recorded in epoch_begins() is on its device when it returns.
  virtual void sync_epoch() = 0;
  virtual std::uint64_t fingerprint() const = 0;  ///< of the definitions
  /// Local. Null if the layout cannot write from another thread.
  virtual std::unique_ptr<Aside> aside() = 0;
};

struct BurstOptions {
  std::string dataset;  ///< absolute path
  /// The path of a pair of log files without its suffix, for a rank or the first rank of a node.
  std::function<std::string(Rank)> log_stem;
  std::uint64_t session = 0;
  bool shared = false;     ///< one pair of log files a node
  bool keep_logs = false;  ///< logs stay, with all records, when the dataset is closed
  int ranks_per_node = 0;  ///< as in Comm::split_node
  FlushOptions flush;
  /// Flush in the background when so many bytes are staged; 0: when they lie in large pieces, which
  /// gain nothing by waiting.
  Count flush_size = 0;
  double flush_seconds = 0;  ///< or when a write has been staged for so long; 0: never
};

/// Collective: creates the logs. All references outlive the stage.
std::unique_ptr<Stage> make_burst_stage(const Comm& comm, const Schema& schema, Layout& layout,
                                        std::unique_ptr<Host> host, const BurstOptions& options,
                                        Report& report);

}  // namespace forebay::burst
