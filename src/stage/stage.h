// A stage decides when queued requests are laid out in the file: `direct` hands them over at once,
// `burst` keeps writes in a log on fast storage and hands over large batches later (D3 §3.2).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/request.h"

namespace forebay {

class Layout;

/// What a stage needs to know of all ranks before it carries out an operation: the maximum over
/// them of what each of them says.
struct StageNeeds {
  std::int64_t flush = 0;     ///< a rank wants staged writes to reach the file first
  std::int64_t direct = 0;    ///< a rank has writes that could not be staged
  std::int64_t staged = 0;    ///< a rank has staged writes
  std::int64_t unserved = 0;  ///< a rank has reads that it cannot serve from what it staged itself
};

class Stage {
 public:
  virtual ~Stage() = default;
  /// Local. Takes what it can of the writes of one operation ahead of submit(), and looks at its
  /// reads.
  virtual StageNeeds offer(std::vector<Request>& writes, const std::vector<Request>& reads) = 0;
  /// Takes all requests of one operation and direction, after offer(). If `collective`, every rank
  /// calls, with an empty list if need be, and `needs` are agreed; else they are this rank's.
  virtual void submit(std::vector<Request>& requests, bool write, bool collective,
                      const StageNeeds& needs) = 0;
  /// Everything staged reaches the file. Collective if `collective`; otherwise what this rank
  /// staged, as far as the layout can write it alone.
  virtual void flush(bool collective) = 0;
  /// Collective. What ranks wrote by themselves becomes common knowledge; it need not reach the
  /// file if it is staged.
  virtual void end_alone() = 0;
  /// Whether writes may be staged when submit() returns: what tells of them (the number of records)
  /// has to wait as well.
  virtual bool holds_writes() const { return false; }
  /// Collective. The layout or the definitions have changed; nothing is staged.
  virtual void use(Layout& layout) = 0;
  /// Collective, after the last flush. Frees what needs all ranks for it. `drop`: what is staged
  /// is not wanted any more.
  virtual void close(bool /*drop*/) {}
  /// How operations were staged and why, for the report: sentences; may be empty.
  virtual std::string reasons() const { return {}; }
};

std::unique_ptr<Stage> make_direct_stage(Layout& layout);

}  // namespace forebay
