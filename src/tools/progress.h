// How far a long run has come: percent, bytes, rate, time that remains. On a terminal one line that
// is rewritten, elsewhere a plain line now and then. Nothing in the first two seconds.
#pragma once

#include <chrono>
#include <string>

#include "base/types.h"

namespace forebay::tools {

/// One for each step of work. Prints to standard error; the destructor clears a terminal's line.
class Progress {
 public:
  enum class Where { automatic, terminal, lines, nowhere };

  /// `what` begins the line. `where`: automatic asks whether standard error is a terminal.
  explicit Progress(std::string what = {}, Where where = Where::automatic);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `all` bytes. Cheap: prints five times a second at most.
  void tell(Count done, Count all);
  /// The same for work of several steps; rates count from the beginning of each.
  void tell(const std::string& step, Count done, Count all);

  /// "copy: 40 %, 4 MiB of 10 MiB, 2 MiB/s, 3 s left" after `seconds` of this step.
  static std::string text(const std::string& what, Count done, Count all, double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Where where_;
  bool shown_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_ = began_ + std::chrono::seconds(2);
};

}  // namespace forebay::tools
