// A rank's log of steps on fast storage (stage burst; Hou 2023, §3.2), until they are written to
// the files of a BP4 directory.
//
// The places of a step in the files are decided before it is logged. So any process can replay a
// log, in any order. The log is a journal (store/journal.h) whose entries are pieces of files. They
// have the form of the writes of stage burst, which `forebay log` shows: boxes of bytes in a space
// of three dimensions (docs/formats.md),
//
//     variable    the file: md.idx, md.0, data.0, data.1, …
//     start       the opening (bp::GroupMark), the step, the place in the file
//     count       1, 1, the number of bytes
//
// The last entry of a step is its record of md.idx, in rank 0's log. Without that record the step
// does not exist: its other entries are never replayed, and another step gets its places in files.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "groups/process_group/step_index.h"
#include "store/journal_reader.h"
#include "store/journal_writer.h"

namespace forebay::process_group {

/// What an entry of the log says.
struct LoggedPiece {
  static constexpr std::int32_t index = 0, metadata = 1, data = 2;  ///< data + K: data.K

  std::int32_t file = data;
  std::int64_t opening = 0, step = 0;
  Offset at = 0;

  std::string file_name() const;  ///< relative to the directory
};

/// Called for each entry that counts, with nothing if it is not a piece of a BP4 directory's files.
using VisitPiece = std::function<void(std::uint64_t sequence, const std::optional<LoggedPiece>&,
                                      const journal::Data&)>;
/// Walks over a log (Reader::walk).
journal::Scan walk_pieces(journal::Reader& reader, const VisitPiece& visit,
                          bool everything = false);

class StepLog {
 public:
  /// The largest bytes of a piece in the log; longer writes are split.
  static constexpr Count most_piece = 4 << 20;

  struct Limits {
    Count memory = 0;    ///< bytes that this rank may use to describe its log
    Count most = 0;      ///< bytes at which the log counts as full; 0: no limit
    int seconds = 0;     ///< age at which the oldest entry makes it full; 0: no limit
    bool keeps = false;  ///< dropped entries stay readable, for people to look at
  };
  /// `report` must outlive this object.
  StepLog(std::unique_ptr<journal::Writer> log, const Limits& limits, Report& report);

  // All are local. Only drain() and sync() throw.

  /// Adds ascending pieces of `file`, which must outlive the log and is `of.file`. Returns false if
  /// there was no space; none of them is in the log then.
  bool add(ByteFile& file, LoggedPiece of, std::span<const FilePiece> pieces) noexcept;
  /// Adds the record of a step. All ranks must have logged or written all of the step before.
  bool add_record(LoggedPiece of, std::span<const std::byte> record) noexcept;

  void keep_step() { whole_ = waiting_.size(); }  ///< all entries so far belong to whole steps
  void forget_step() noexcept;                    ///< drops later entries: they go to no file

  /// Returns whether the log should be written to the files now.
  bool is_full() const;
  /// Writes all waiting entries to their files. If it throws, all of them stay, and it may be
  /// called again.
  void drain();
  /// Drops drained entries and the records.
  void drop() noexcept;
  /// Waits until the log is on its device, without what was dropped.
  void sync();
  /// Ends the log, in which nothing waits. A log that is kept gets a mark for this.
  void end() noexcept;

 private:
  struct Waiting {
    ByteFile* file;
    Offset at;
    journal::Data data;
  };
  void add_run(ByteFile& file, const LoggedPiece& of, Offset at, std::span<const iovec> run,
               std::vector<Waiting>& fresh);
  void drop_all();

  using Clock = std::chrono::steady_clock;

  std::unique_ptr<journal::Writer> log_;
  Limits limits_;
  Clock::time_point oldest_;  // time of the oldest waiting entry
  Report& report_;
  std::vector<Waiting> waiting_;
  std::size_t whole_ = 0;
  Count bytes_ = 0;  // of waiting entries
  bool refused_ = false;
  bool drop_is_due_ = false;  // drop() has failed
};

}  // namespace forebay::process_group
