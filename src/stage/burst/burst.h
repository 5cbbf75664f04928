// Stage `burst`: writes wait in a log on fast storage and reach the file in large batches (D3
// §3.2).
//
// A write has been staged when its call returns: its record and data are in the log files, so that
// a process that is killed loses none of them. Staged writes reach the file when the dataset is
// flushed, synchronised, redefined or closed, when another rank's staged data may be read, when the
// log's device is full, or, if asked for, from a thread when there are enough of them or the oldest
// is old enough. What a rank wrote later wins over what it wrote earlier. Between ranks, completed
// collective flushes order writes, and nothing else does.
//
// A collective flush: all ranks hand their batches over, agree that all is well, the number of
// records is written, and the host notes that the epoch is over; from then on no log of that epoch
// is replayed, and each rank drops its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "array/schema.h"
#include "base/byte_file.h"
#include "base/report.h"
#include "comm/comm.h"
#include "layout/layout.h"
#include "stage/burst/flush.h"
#include "stage/stage.h"

namespace forebay::burst {

/// What the stage asks of those who keep its logs and the dataset (host.cc).
class Host {
 public:
  virtual ~Host() = default;
  /// Local. Opens a log file for reading and writing; `create`: empties it.
  virtual std::unique_ptr<ByteFile> open_log(const std::string& path, bool create) = 0;
  virtual void remove_log(const std::string& path) = 0;  ///< local
  /// Local. A rank's log is not kept any more; recovery neither replays nor misses it.
  virtual void lose_log(const std::string& stem) = 0;
  /// Collective. The logs are there and hold nothing: from now on a crash leaves them to be
  /// replayed.
  virtual void logs_begin() = 0;
  /// Collective. Everything is in the file: logs may be missing from here on.
  virtual void logs_closing(std::uint64_t epoch) = 0;
  /// Collective. All logs are gone.
  virtual void logs_end() = 0;
  /// Collective. Ranks agree on the number of records that staged writes make.
  virtual void before_flush() = 0;
  /// Collective. Staged writes are in the file: so is now what tells of them.
  virtual void after_flush() = 0;
  /// Collective. Staged writes of epochs before `epoch` are never replayed from here on.
  virtual void epoch_begins(std::uint64_t epoch) = 0;
  virtual std::uint64_t fingerprint() const = 0;  ///< of the definitions
  /// Local. Null where the layout cannot write from beside.
  virtual std::unique_ptr<Aside> aside() = 0;
};

struct BurstOptions {
  std::string dataset;  ///< absolute path
  /// The path of a pair of log files without its suffix, for a rank or the first rank of a node.
  std::function<std::string(Rank)> log_stem;
  std::uint64_t session = 0;
  bool shared = false;     ///< one pair of log files a node
  bool keep_logs = false;  ///< logs stay, with all records, when the dataset is closed
  int ranks_per_node = 0;  ///< as Comm::split_node has it
  FlushOptions flush;
  /// Flush from the background when so many bytes are staged; 0: when they lie in large pieces,
  /// which gain nothing by waiting.
  Count flush_size = 0;
  double flush_seconds = 0;  ///< … or when a write has been staged for so long; 0: never
};

/// Collective: creates the logs. All references outlive the stage.
std::unique_ptr<Stage> make_burst_stage(const Comm& comm, const Schema& schema, Layout& layout,
                                        std::unique_ptr<Host> host, const BurstOptions& options,
                                        Report& report);

}  // namespace forebay::burst
