// What a rank reads beyond what it was asked for, where its requests follow each other in the file:
// as much again as it has asked for so far, and not without end. Calls of 4 KiB each then wait for
// the store a few times in all, and where all ranks have what they ask for they meet once a call.
//
// What is held goes when this process has written to the file, by whatever object, or was told that
// others may have (ByteFile::changes), and after `for_long`; reading ahead then begins with little
// again. Ranks that read together tell each other of that.
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
  /// What a rank needs of a read by all; they go by the largest of theirs.
  enum Need : std::int64_t {
    nothing,       ///< it has all of it
    what_follows,  ///< one small piece behind its last, or as far from it as that from its own
    other,
    anew,  ///< something has been written since the last operation
  };
  static constexpr std::chrono::seconds for_long{1};

  /// `limit`: bytes that are held at most.
  ReadAhead(ByteFile& file, Count limit) : file_(file), limit_(limit) {}

  /// Local, before ranks agree on an operation.
  Need need(const StreamSummary& mine) const;
  /// Behind that.
  void agreed(Need all, bool writing);
  /// A read that was carried out, or is.
  void note(const StreamSummary& mine);
  /// Whether what is asked for is held, or the next to be.
  bool is_of_use(const StreamSummary& mine) const { return holds(mine) || follows(mine); }

  /// What is_of_use(), reading what is not held.
  void read(ExtentStream& extents, Count hole_threshold, Report& report);
  /// What is held, as need() has said.
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
  std::int64_t seen_ = -1;           // at the last operation of all ranks
  mutable std::int64_t looked_ = 0;  // by need()
  Offset last_ = -1;                 // where the last request began
  Count step_ = 0;                   // from there to where the next one is expected
  Count asked_ = 0;                  // bytes from the first of those that followed each other, or
                                     // from where what was held went
};

}  // namespace forebay
