// ReadAhead reads beyond what a rank was asked for, if its requests follow each other in the file:
// as much again as it was asked for so far, up to a limit. Calls of 4 KiB then wait for the store a
// few times in all. If all ranks hold what they ask for, they make one reduction a call.
//
// Held bytes are dropped after `for_long`, when this process has written to the file, by whatever
// object, and when others may have written (ByteFile::changes). Reading ahead then begins with
// little again. Ranks that read together tell each other of that.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"

namespace forebay {

class ReadAhead {
 public:
  /// What a rank needs of a read by all. The largest need of all ranks decides.
  enum Need : std::int64_t {
    nothing,       ///< it has all of it
    what_follows,  ///< one small piece behind its last, or as far from it as before
    other,
    anew,  ///< the file has changed since the last operation
  };
  static constexpr std::chrono::seconds for_long{1};

  /// `limit` is the most bytes that are held.
  ReadAhead(ByteFile& file, Count limit) : file_(file), limit_(limit) {}

  /// Local, before ranks agree on an operation. Returns what this rank needs.
  Need need(const StreamSummary& mine) const;
  /// Takes over what ranks have agreed on.
  void agreed(Need all, bool writing);
  /// Notes a read that was carried out or is to be.
  void note(const StreamSummary& mine);
  /// Copies the extents from what is held, and reads what is not.
  void read(ExtentStream& extents, Count hole_threshold, Report& report);
  /// Copies from what is held, if need() was `nothing`.
  void give(ExtentStream& extents) const;
  void drop();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_fresh() const;
  bool holds(const StreamSummary& mine) const;
  bool follows(const StreamSummary& mine) const;
  bool is_slow_file() const { return is_slow(file_.least_latency(false)); }
  bool fill(const StreamSummary& mine, Report& report);

  ByteFile& file_;
  Count limit_;
  std::unique_ptr<std::byte[]> held_;
  Count room_ = 0;
  Offset begin_ = 0, end_ = 0;  // of what is held
  std::int64_t filled_at_ = 0;  // ByteFile::changes() before that was read
  Clock::time_point filled_ = {};
  std::int64_t seen_ = -1;           // changes() at the last operation of all ranks
  mutable std::int64_t looked_ = 0;  // changes() in need()
  Offset last_ = -1;                 // where the last request began
  Count step_ = 0;                   // from there to where the next one is expected
  Count asked_ = 0;                  // bytes asked for since requests began to follow each other,
                                     // or since what was held was dropped
};

}  // namespace forebay
