#include "plan/bundle_windows.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace forebay {

using Wide = __int128;

BundleWindows::BundleWindows(std::span<const Range> files, Count size) : size_(size) {
  firsts_.reserve(files.size());
  counts_.reserve(files.size());
  for (const Range& range : files) {
    const bool any = range.last > range.first;
    firsts_.push_back(any ? range.first / size : 0);
    counts_.push_back(any ? (range.last - 1) / size - firsts_.back() + 1 : 0);
    if (__builtin_add_overflow(all_, counts_.back(), &all_) ||
        all_ > std::numeric_limits<Count>::max() / size)
      throw Error(Errc::eintoverflow, "the files of a bundle have more than 2^63 bytes together");
  }
}

// Window j of file g is before (2k + 1) / 2n if (2j + 1) / 2m is less, or equal and g < f.
Count BundleWindows::position(std::size_t file, Count window) const {
  Count before = window;
  const Wide n = counts_[file];
  for (std::size_t g = 0; g < counts_.size(); ++g) {
    if (g == file || counts_[g] == 0) continue;
    const Wide x = Wide{2 * window + 1} * counts_[g];
    const Wide most = g < file ? x / n : (x - 1) / n;  // upper limit for 2j + 1
    before += static_cast<Count>((most + 1) / 2);
  }
  return before;
}

BundleWindows::Place BundleWindows::at(Count at) const {
  const std::lock_guard lock(mutex_);
  if (kept_from_ < 0 || at < kept_from_ || at >= kept_from_ + std::ssize(kept_)) {
    kept_from_ = -1;
    const Count from = at / most_kept * most_kept, to = std::min(from + most_kept, all_);
    kept_.assign(static_cast<std::size_t>(to - from), {});
    for (std::size_t file = 0; file < counts_.size(); ++file) {
      Count low = 0, high = counts_[file];  // the first window that is not before `from`
      while (low < high) {
        const Count middle = low + (high - low) / 2;
        if (position(file, middle) < from) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      for (; low < counts_[file]; ++low) {
        const Count there = position(file, low);
        if (there >= to) break;
        kept_[static_cast<std::size_t>(there - from)] = {file, low};
      }
    }
    kept_from_ = from;
  }
  return kept_[static_cast<std::size_t>(at - kept_from_)];
}

}  // namespace forebay
