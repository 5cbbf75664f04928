// Shows the progress of a long run: percent, bytes, rate, remaining time. On a terminal it rewrites
// one line, elsewhere it prints a line from time to time. It prints nothing in the first two
// seconds.
#pragma once

#include <chrono>
#include <string>

#include "base/types.h"

namespace forebay::tools {

/// Prints to standard error. The destructor clears a terminal's line.
class Progress {
 public:
  enum class Where { automatic, terminal, lines, nowhere };

  /// `what` begins the line. Where::automatic checks whether standard error is a terminal.
  explicit Progress(std::string what = {}, Where where = Where::automatic);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows `done` of `all` bytes. Cheap: prints at most five times a second.
  void tell(Count done, Count all);
  /// The same for work of several steps. Each step has its own rate.
  void tell(const std::string& step, Count done, Count all);

  /// Returns "copy: 40 %, 4 MiB of 10 MiB, 2 MiB/s, 3 s left", `seconds` after the step began.
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
