#include "tools/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "base/text_table.h"
#include "method/method_values.h"

namespace forebay::tools {
namespace {

// Returns "8 s", "3 min 20 s" or "2 h 5 min".
std::string duration_text(double seconds) {
  const auto s = std::llround(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

}  // namespace

Progress::Progress(std::string what, Where where) : what_(std::move(what)), where_(where) {
  if (where_ == Where::automatic)
    where_ = ::isatty(STDERR_FILENO) != 0 ? Where::terminal : Where::lines;
}

Progress::~Progress() {
  if (shown_ && where_ == Where::terminal) fmt::print(stderr, "\r\x1b[K");
}

void Progress::tell(Count done, Count all) {
  const auto now = Clock::now();
  if (where_ == Where::nowhere || now < next_ || all <= 0) return;
  next_ = now + (where_ == Where::terminal ? std::chrono::milliseconds(200)
                                           : std::chrono::milliseconds(10000));
  const std::string line =
      text(what_, done, all, std::chrono::duration<double>(now - began_).count());
  if (where_ == Where::terminal) {
    fmt::print(stderr, "\r\x1b[K{}", line);
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
  shown_ = true;
}

void Progress::tell(const std::string& step, Count done, Count all) {
  if (step != what_) {
    what_ = step;
    began_ = Clock::now();
  }
  tell(done, all);
}

std::string Progress::text(const std::string& what, Count done, Count all, double seconds) {
  const double share = static_cast<double>(done) / static_cast<double>(all);
  std::string line =
      fmt::format("{}: {} %, {} of {}", printable(what, 48), static_cast<int>(100 * share),
                  friendly_size(done), friendly_size(all));
  if (seconds <= 0 || done <= 0) return line;
  line +=
      fmt::format(", {}/s", friendly_size(static_cast<Count>(static_cast<double>(done) / seconds)));
  if (done < all) line += ", " + duration_text(seconds * (1 - share) / share) + " left";
  return line;
}

}  // namespace forebay::tools
