// A stage decides when queued requests are laid out in the file: `direct` hands them over at once,
// `burst` keeps writes in a log on fast storage and hands over large batches later (D3 §3.2),
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

/// What a stage needs to know of all ranks before it carries out an operation: the maximum over
/// them of what each of them says.
struct StageNeeds {
  std::int64_t flush = 0;     ///< a rank wants staged writes to reach the file first
  std::int64_t direct = 0;    ///< a rank has writes that could not be staged
  std::int64_t staged = 0;    ///< a rank has staged writes
  std::int64_t unserved = 0;  ///< a rank has reads that it cannot serve from what it staged itself
  std::int64_t alike = 0;     ///< a hash of what a rank writes
  std::int64_t unlike = 0;    ///< and its complement: so that all know whether it is the same
  std::int64_t first = 0;     ///< less the first byte of what a rank writes in place,
  std::int64_t last = 0;      ///< and one past its last byte
  std::optional<Foreseen> foreseen = {};  ///< what foresee() said, agreed on
};

class Stage {
 public:
  virtual ~Stage() = default;
  /// Local. Takes what it can of the writes of one operation ahead of submit(), and looks at its
  /// reads.
  virtual StageNeeds offer(std::vector<Request>& writes, const std::vector<Request>& reads) = 0;
  /// Local, after offer(). What the layout foresees of these requests, of one direction, if
  /// submit() hands them over and does nothing before; else nothing, on all ranks alike.
  virtual std::optional<Foreseen> foresee(std::span<const Request> /*requests*/) const {
    return std::nullopt;
  }
  /// Takes all requests of one operation and direction, after offer(). If `collective`, every rank
  /// calls, with an empty list if need be, and `needs` are agreed; else they are this rank's.
  virtual void submit(std::vector<Request>& requests, bool write, bool collective,
                      const StageNeeds& needs) = 0;
  /// Everything staged reaches the file. Collective if `collective`; otherwise what this rank
  /// staged, as far as the layout can write it alone.
  virtual void flush(bool collective) = 0;
  /// Local; the same on all ranks: whether flush() may have something to do, collectively. True is
  /// never wrong.
  virtual bool may_be_behind() const { return true; }
  /// Collective. From here on ranks write and read by themselves, until end_alone().
  virtual void begin_alone() {}
  /// Collective. What ranks wrote by themselves becomes common knowledge; it need not reach the
  /// file if it is staged.
  virtual void end_alone() = 0;
  /// Whether writes may be staged when submit() returns: what tells of them (the number of records)
  /// has to wait as well.
  virtual bool holds_writes() const { return false; }
  /// The same on all ranks. What submit() wrote the stage publishes, later (StageHost::publish).
  virtual bool publishes_later() const { return false; }
  /// Collective. The header is about to be written, with a number of records that counts what is
  /// staged: it must outlive the process.
  virtual void before_header() {}
  /// Collective. The layout or the definitions have changed; nothing is staged.
  virtual void use(Layout& layout) = 0;
  /// Collective, after the last flush. Frees what needs all ranks for it. Ranks may meet in it only
  /// where it holds_writes(). `drop`: what is staged
  /// is not wanted any more.
  virtual void close(bool /*drop*/) {}
  /// How operations were staged and why, for the report: sentences; may be empty.
  virtual std::string reasons() const { return {}; }
};

/// A layout for a thread beside the rank's own: nothing that it uses is shared.
class Aside {
 public:
  virtual ~Aside() = default;
  virtual Layout& layout() = 0;
  virtual Report& report() = 0;
};

/// What a stage may ask of the dataset that it stages for.
class StageHost {
 public:
  virtual ~StageHost() = default;
  virtual bool is_regular() = 0;  ///< local: the file is no pipe and no device
  /// Collective. Ranks agree on the number of records, and the file tells it.
  virtual void write_agreed_numrecs() = 0;
  /// Collective. What was carried out without being published becomes visible, and with it the
  /// number of records, on which ranks agree.
  virtual void publish() { write_agreed_numrecs(); }
  /// Local. The queue of the files that values are written to, where StageEntry::writes_later.
  virtual WriteQueue* later() { return nullptr; }
  /// Local. Null where the layout cannot write from beside.
  virtual std::unique_ptr<Aside> aside() = 0;

  // Of a HoldingStage's.

  /// Collective. What waits has to be in the file. Whatever others write along with theirs does not
  /// wait any more behind it; the rest the stage writes.
  virtual void write_with_others() {}
  /// Local. Bytes that may wait here on this rank, besides those that do.
  virtual Count room() { return 0; }
  /// Local. Memory for what waits, of that size; nothing that room() does not count is kept beyond
  /// what it leaves.
  virtual std::unique_ptr<std::byte[]> take_memory(Count bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  }
  virtual void give_memory(std::unique_ptr<std::byte[]> /*block*/, Count /*bytes*/) noexcept {}
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

/// What a stage says of itself, at the beginning of a line: `extern const StageEntry name_stage{`.
struct StageEntry : Part {
  static constexpr PartKind kind = PartKind::stage;
  /// Collective; for a file that is open for writing. Null where this file cannot be staged:
  /// requests go on at once then.
  std::unique_ptr<Stage> (*make)(const StageSite& site);
  bool batches = false;        ///< writes reach the file in large batches, as a rule
  bool converts_late = false;  ///< so that values out of range are told of at a flush
  bool writes_later = false;   ///< values are written by a thread: StageHost::later
  bool is_local = false;       ///< make() and Stage::use() are each rank's own
};

std::unique_ptr<Stage> make_direct_stage(Layout& layout);

/// Keeps collective writes until they have to be in the file, or its host has no room for more.
class HoldingStage : public Stage {
 public:
  /// Local. What waits, in the order of calls; as many operations on all ranks.
  virtual std::span<Request> held() = 0;
  virtual std::span<Request> held(std::size_t operation) = 0;
  virtual std::size_t operations() const = 0;
  /// Local, equal on all ranks. So many records are told of once that operation is in the file, if
  /// any publication tells of them: none that a later one writes, and no fewer than told() has it.
  virtual Count records(std::size_t operation) const = 0;
  virtual void told(Count records) = 0;  ///< local, equal on all ranks: the file does
  virtual Count held_bytes() const = 0;  ///< memory that it takes on this rank
  virtual void forget_held() = 0;        ///< it is in the file
};

/// Stage `memory` for a file of a bundle (bundle/bundle.h): its host says what may wait, and when
/// it no longer does.
std::unique_ptr<HoldingStage> make_bundled_stage(const StageSite& site);

}  // namespace forebay
