// A stage decides when queued requests are laid out in the file. `direct` passes them on at once.
// `burst` keeps writes in a log on fast storage and passes on large batches later (Hou 2023, §3.2).
// `memory` keeps them in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "method/part.h"

namespace forebay {

class Layout;
class WriteQueue;

/// What a stage needs to know of all ranks before it carries out an operation: the maximum over all
/// ranks of these values.
struct StageNeeds {
  std::int64_t flush = 0;     ///< a rank wants staged writes to reach the file first
  std::int64_t direct = 0;    ///< a rank has writes that could not be staged
  std::int64_t staged = 0;    ///< a rank has staged writes
  std::int64_t unserved = 0;  ///< a rank has reads that its own staged data does not cover
  std::int64_t alike = 0;     ///< a hash of what a rank writes
  std::int64_t unlike = 0;    ///< its complement: the maxima show whether all hashes are equal
  std::int64_t first = 0;     ///< minus the first byte of what a rank writes in place
  std::int64_t last = 0;      ///< one past its last byte
  std::optional<Foreseen> foreseen = {};  ///< the result of foresee(), agreed on by all ranks
};

class Stage {
 public:
  virtual ~Stage() = default;
  /// Local. Stages as many of an operation's writes as possible before submit(), and looks at its
  /// reads.
  virtual StageNeeds offer(std::span<const Request> writes, std::span<const Request> reads) = 0;
  /// Local, after offer(). What the layout predicts for these requests of one direction, if
  /// submit() passes them on without doing anything before. Otherwise nothing, on all ranks alike.
  virtual std::optional<Foreseen> foresee(std::span<const Request> /*requests*/) const {
    return std::nullopt;
  }
  /// Takes all requests of one operation and direction, after offer(). If `collective`, every rank
  /// calls it, perhaps with an empty list, and `needs` are reduced over ranks. Otherwise they are
  /// this rank's.
  virtual void submit(std::span<Request> requests, bool write, bool collective,
                      const StageNeeds& needs) = 0;
  /// Writes everything staged to the file. Collective if `collective`; otherwise it writes what
  /// this rank has staged, as far as the layout can do that without other ranks.
  virtual void flush(bool collective) = 0;
  /// Collective. Does what a collective flush() does, before the file is synced to its device. A
  /// stage with logs keeps in them what it writes here, until synced() is called.
  virtual void flush_to_sync() { flush(true); }
  /// Collective, after flush_to_sync(), once its bytes are on the file's device. If the sync fails
  /// on any rank, no rank calls it. What the stage has recorded about writes that it no longer
  /// holds is on its device afterwards, too.
  virtual void synced() {}
  /// Local, equal on all ranks. Returns whether a collective flush() may have something to do. It
  /// may be true without need.
  virtual bool may_be_behind() const { return true; }
  /// Collective. Until end_alone(), each rank writes and reads independently.
  virtual void begin_alone() {}
  /// Collective. Makes independent writes known to all ranks. Staged ones need not reach the file.
  virtual void end_alone() = 0;
  /// Returns whether writes may still be staged when submit() returns. Metadata that depends on
  /// them (the number of records) must then wait as well.
  virtual bool holds_writes() const { return false; }
  /// Equal on all ranks. The stage publishes the writes of submit() later (StageHost::publish).
  virtual bool publishes_later() const { return false; }
  /// Collective. Called before the header is written with a number of records that includes staged
  /// ones; these must now survive the process.
  virtual void before_header() {}
  /// Collective. Called after the layout or the definitions have changed; nothing is staged then.
  virtual void use(Layout& layout) = 0;
  /// Collective, after the last flush. Frees resources whose release is collective. Only a stage
  /// with holds_writes() may communicate here. `drop`: staged writes are discarded.
  virtual void close(bool /*drop*/) {}
  /// How operations were staged and why, as sentences for the report; may be empty.
  virtual std::string reasons() const { return {}; }
};

/// A layout for another thread than the rank's own; it shares no state.
class Aside {
 public:
  virtual ~Aside() = default;
  virtual Layout& layout() = 0;
  virtual Report& report() = 0;
};

/// What a stage may ask of its dataset.
class StageHost {
 public:
  virtual ~StageHost() = default;
  virtual bool is_regular() = 0;  ///< local: the file is no pipe and no device
  /// Collective. Ranks agree on the number of records, and write it to the file.
  virtual void write_agreed_numrecs() = 0;
  /// Collective. Makes operations visible that were carried out without publication, and the number
  /// of records, on which ranks agree.
  virtual void publish() { write_agreed_numrecs(); }
  /// Collective. Does what Container::show() does.
  virtual void show() {}
  /// Local. The write queue of the data's files, if StageEntry::writes_later.
  virtual WriteQueue* later() { return nullptr; }
  /// Local. Null if the layout cannot write from another thread.
  virtual std::unique_ptr<Aside> aside() = 0;
};

/// What a stage shares with the dataset; all of it outlives the stage.
struct StageSite {
  const Comm& comm;
  const std::string& path;
  const Method& method;
  Schema& schema;
  Layout& layout;
  Report& report;
  StageHost& host;
};

/// What an earlier job that used a stage may have left beside a file.
struct Leftovers {
  /// Local. Returns whether there may be anything to meet. One system call if there is nothing.
  bool (*any)(const std::string& path);
  /// Collective. Opening and creating a dataset call it before they touch the file, if any() is
  /// true on rank 0. Errors are thrown on all ranks.
  void (*meet)(const Comm& comm, const std::string& path, bool writable, bool creating,
               const Method& method);
};

/// The registration of a stage. A line of its file begins `extern const StageEntry name_stage{`.
struct StageEntry : Part {
  static constexpr PartKind kind = PartKind::stage;
  /// Collective; for a file that is open for writing. Null if this file cannot be staged: its
  /// requests are then passed on at once.
  std::unique_ptr<Stage> (*make)(const StageSite& site);
  bool batches = false;        ///< writes usually reach the file in large batches
  bool converts_late = false;  ///< values out of range are only reported at a flush
  bool writes_later = false;   ///< a thread writes values: StageHost::later
  bool is_local = false;       ///< make() and Stage::use() are local
  std::optional<Leftovers> leftovers = std::nullopt;
  /// What it holds when a process ends is in logs, which `forebay recover` brings in.
  bool keeps_logs = false;
  /// Local. Makes the paths among its keys absolute; they are relative to the program's `folder`.
  /// Null: it has none.
  void (*resolve_paths)(Method& method, const std::string& folder) = nullptr;
};

std::unique_ptr<Stage> make_direct_stage(Layout& layout);

}  // namespace forebay
