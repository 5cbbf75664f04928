// Finds out by trying which way is quicker between nodes: through windows, where nodes write and
// read for each other, or by system calls of each rank. The cost of a rank's own call depends on
// the file system's locks and caches, and that of a window on the network. So neither is known
// before.
//
// Parts of a long operation, or whole operations, go through windows twice, because the first time
// pays for memory and connections. The next try is direct. It ends when it has taken `patience`
// times as long as windows would; then all of it goes through windows. If it was quicker, the next
// operation tries windows once more: they have all that they need then.
//
// Tries are short, and a window of a try waits for all others of it. So from then on whole
// operations are measured, which needs no reduction of its own. Now and then, ever more rarely, one
// goes the other way. If that way took more than `patience` times as long when it was last tried,
// it waits longer for its turn. A direct try that was given up is not repeated.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"

namespace forebay {

/// For pieces of about one size, in one direction. It is equal on all ranks.
class PathTuner {
 public:
  bool is_known() const { return known_; }
  /// Returns whether direct calls are better, as far as is known.
  bool is_direct() const { return tries_ > 2 && pace(true) * margin <= pace(false); }
  /// Returns whether the next try is direct. Call it only while not known.
  bool tries_directly() const { return tries_ == 2; }

  /// Returns whether the next whole operation goes directly; only once known. Each call is one.
  bool next_is_direct(double patience) {
    const bool best = is_direct();
    ++since_;
    // A way that was not used for long may be quicker than when it was last measured.
    const double bar = patience * (1 + static_cast<double>(since_) / most_apart);
    if (since_ <= apart_ || pace(!best) > bar * pace(best)) return best;
    since_ = 0;
    apart_ = std::min(2 * apart_, most_apart);
    return !best;
  }
  /// Notes the time of a whole operation. One that was slow by chance counts a quarter.
  void note_whole(bool directly, double seconds, double bytes) {
    double& known = whole_[directly ? 1 : 0];
    const double now = seconds / bytes;
    known = now < known || known == none ? now : 0.75 * known + 0.25 * now;
  }

  /// Returns the seconds that windows would take.
  double expected(double bytes) const { return windows_ * bytes; }

  /// Notes the time of a try.
  void note(bool directly, double seconds, double bytes) {
    double& pace = directly ? direct_ : windows_;
    pace = std::min(pace, seconds / bytes);
    known_ = ++tries_ == 4 || (tries_ == 3 && !is_direct());
  }
  /// Notes that a direct try took too long.
  void give_up_directly() {
    direct_ = none;
    known_ = true;
  }

  double bytes_per_second(bool directly) const { return 1 / pace(directly); }
  bool was_tried(bool directly) const { return (directly ? direct_ : windows_) < none; }

 private:
  static constexpr double none = std::numeric_limits<double>::infinity();
  // Windows need no locks of the file system, and do not wear it out.
  static constexpr double margin = 1.2;
  static constexpr int most_apart = 64;

  // Returns the pace of whole operations if there were any, else of tries.
  double pace(bool directly) const {
    const double tried = directly ? direct_ : windows_, whole = whole_[directly ? 1 : 0];
    return tried < none && whole < none ? whole : tried;
  }

  double windows_ = none, direct_ = none;       // seconds a byte, of tries
  std::array<double, 2> whole_ = {none, none};  // through windows, and directly
  int since_ = 0, apart_ = 1;                   // operations since one went the other way
  int tries_ = 0;
  bool known_ = false;
};

/// One PathTuner for each size of pieces, in powers of two.
class QuickerWays {
 public:
  /// Below this a system call for a piece takes longer than all of aggregation.
  static constexpr Count least_piece = 256;

  PathTuner& of(Count piece) { return *(latest_ = &ways_[index_of(piece)]); }
  /// Returns the one asked for last; null if none was.
  const PathTuner* latest() const { return latest_; }

 private:
  static constexpr std::size_t kinds = 12;  // the last: 512 KiB and more
  static std::size_t index_of(Count piece) {
    const auto of_least = static_cast<std::uint64_t>(std::max<Count>(piece / least_piece, 1));
    return std::min(static_cast<std::size_t>(std::bit_width(of_least)) - 1, kinds - 1);
  }

  std::array<PathTuner, kinds> ways_;
  PathTuner* latest_ = nullptr;
};

/// What was found out on one communicator, by folder: the files of a folder are usually on one file
/// system.
class PathTunerCache {
 public:
  using OfBoth = std::array<QuickerWays, 2>;  ///< of reads and writes

  /// `folder` is a hash of its name. Returns null if nothing is known.
  std::shared_ptr<OfBoth> find(std::uint64_t folder) const {
    const auto found = std::find_if(folders_.begin(), folders_.end(),
                                    [&](const auto& each) { return each.first == folder; });
    return found == folders_.end() ? nullptr : found->second;
  }
  std::shared_ptr<OfBoth> of_folder(std::uint64_t folder) {
    if (auto found = find(folder)) return found;
    if (folders_.size() == most) folders_.erase(folders_.begin());
    return folders_.emplace_back(folder, std::make_shared<OfBoth>()).second;
  }

 private:
  static constexpr std::size_t most = 8;

  std::vector<std::pair<std::uint64_t, std::shared_ptr<OfBoth>>> folders_;
};

}  // namespace forebay
