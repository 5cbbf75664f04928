// A rank's log of steps on fast storage (stage burst, D3 §3.2), until they go to the files of a BP4
// directory.
//
// Where all of a step lies is decided before it is logged, so that a log can be replayed by
// anybody, in any order: its writes (format/staging_record.h) are boxes of bytes in a space of
// three dimensions,
//
//     variable    which file: md.idx, md.0, data.0, data.1, …
//     start       the opening (bp::GroupMark) and the step that it is of, the place in the file
//     count       1, 1, its bytes
//
// The last of a step that is logged is its record of md.idx, in rank 0's log. Without that there is
// no such step: what it has in logs is never replayed, and places in files are another step's.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "staging_log/writer.h"

namespace forebay::process_group {

struct FilePiece {
  Offset at;
  std::span<const std::byte> bytes;
};

/// What a write of a log is.
struct LoggedPiece {
  static constexpr VarId index = 0, metadata = 1, data = 2;  ///< data + K: data.K

  VarId file = data;
  std::int64_t opening = 0, step = 0;
  Offset at = 0;

  std::string file_name() const;  ///< in the directory
};
/// Nothing: it is of something else than a BP4 directory.
std::optional<LoggedPiece> logged_piece(const staging::Write& write);

class StepLog {
 public:
  /// Pieces are no longer than this, whatever is written at once.
  static constexpr Count most_piece = 4 << 20;

  struct Limits {
    Count memory = 0;    ///< what this rank may keep to know of its log
    Count most = 0;      ///< bytes with which it is to be emptied; 0: any number
    int seconds = 0;     ///< how old the first of them may become; 0: of any age
    bool keeps = false;  ///< what was dropped stays readable, for people to look at
  };
  /// `report` outlives it.
  StepLog(std::unique_ptr<staging::Writer> log, const Limits& limits, Report& report);

  // All local, and none throws but drain().

  /// Of a file that stays, and is `of.file`; pieces ascend. False: there was no room, and nothing
  /// of it is in the log.
  bool add(ByteFile& file, LoggedPiece of, std::span<const FilePiece> pieces) noexcept;
  /// The record of a step, of which all ranks have logged, or written, all that they have.
  bool add_record(LoggedPiece of, std::span<const std::byte> record) noexcept;

  void keep_step() { whole_ = waiting_.size(); }  ///< what there is belongs to whole steps
  void forget_step() noexcept;                    ///< what is beyond that never goes to a file

  /// It would be well if all went to the files now.
  bool is_full() const;
  /// Writes all that waits to its files. When it throws all of it stays, and may be tried again.
  void drain();
  /// What was drained is not needed any more, records neither.
  void drop() noexcept;
  /// Nothing waits, and nothing more will: a log that is kept says so.
  void end() noexcept;

 private:
  struct Waiting {
    ByteFile* file;
    Offset at, data;
    Count bytes;
    std::uint64_t hash;
  };
  void add_run(ByteFile& file, const LoggedPiece& of, Offset at, std::span<const iovec> run,
               std::vector<Waiting>& fresh);

  using Clock = std::chrono::steady_clock;

  std::unique_ptr<staging::Writer> log_;
  Limits limits_;
  Clock::time_point oldest_;  // of what waits
  Report& report_;
  std::vector<Waiting> waiting_;
  std::size_t whole_ = 0;
  Count bytes_ = 0;  // that wait
  bool refused_ = false;
};

}  // namespace forebay::process_group
