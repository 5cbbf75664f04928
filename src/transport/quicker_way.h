// Which way pieces go quicker between nodes, as found by trying: through windows, where nodes write
// and read for each other, or by system calls of their own ranks. What an own call costs depends on
// the file system's locks and caches, and what a window costs on the network, so neither is known
// before.
//
// Parts of an operation, where it is long, or whole operations go through windows twice, since the
// first time pays for memory and connections, and then directly. A direct try ends when it has
// taken `patience` times as long as windows would have, and all of it goes through windows. Where
// it was quicker, the next operation tries windows once more: they have all that they need then.
//
// Tries are short, and a window of a try waits for all others of it. So from then on whole
// operations are measured, which needs no meeting of its own, and now and then, ever more rarely,
// one goes the other way: the later the longer that took when it was tried last, beyond `patience`
// times as long. A direct try that was given up is not made again.
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

/// Of pieces of about one size, in one direction. Equal on all ranks.
class QuickerWay {
 public:
  bool is_known() const { return known_; }
  /// As far as is known.
  bool is_direct() const { return tries_ > 2 && pace(true) * margin <= pace(false); }
  /// The next try; while not known.
  bool tries_directly() const { return tries_ == 2; }

  /// Whether the next whole operation goes directly; once known. Each call is an operation.
  bool next_is_direct(double patience) {
    const bool best = is_direct();
    ++since_;
    // What has stood aside for long may be quicker than when it was known last.
    const double bar = patience * (1 + static_cast<double>(since_) / most_apart);
    if (since_ <= apart_ || pace(!best) > bar * pace(best)) return best;
    since_ = 0;
    apart_ = std::min(2 * apart_, most_apart);
    return !best;
  }
  /// What a whole operation took. One that was slow by chance counts a quarter.
  void note_whole(bool directly, double seconds, double bytes) {
    double& known = whole_[directly ? 1 : 0];
    const double now = seconds / bytes;
    known = now < known || known == none ? now : 0.75 * known + 0.25 * now;
  }

  /// Seconds that windows would take.
  double expected(double bytes) const { return windows_ * bytes; }

  /// What a try took.
  void note(bool directly, double seconds, double bytes) {
    double& pace = directly ? direct_ : windows_;
    pace = std::min(pace, seconds / bytes);
    known_ = ++tries_ == 4 || (tries_ == 3 && !is_direct());
  }
  /// A direct try took too long.
  void give_up_directly() {
    direct_ = none;
    known_ = true;
  }

  double bytes_per_second(bool directly) const { return 1 / pace(directly); }
  bool was_tried(bool directly) const { return (directly ? direct_ : windows_) < none; }

 private:
  static constexpr double none = std::numeric_limits<double>::infinity();
  // Windows need no locks of a file system's, and do not wear it out.
  static constexpr double margin = 1.2;
  static constexpr int most_apart = 64;

  // Of whole operations where there were any.
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

/// One for each size of pieces, in powers of two.
class QuickerWays {
 public:
  /// Below this a system call for a piece takes longer than all of aggregation.
  static constexpr Count least_piece = 256;

  QuickerWay& of(Count piece) { return *(latest_ = &ways_[index_of(piece)]); }
  /// That was asked for last; null: none was.
  const QuickerWay* latest() const { return latest_; }

 private:
  static constexpr std::size_t kinds = 12;  // the last: 512 KiB and more
  static std::size_t index_of(Count piece) {
    const auto of_least = static_cast<std::uint64_t>(std::max<Count>(piece / least_piece, 1));
    return std::min(static_cast<std::size_t>(std::bit_width(of_least)) - 1, kinds - 1);
  }

  std::array<QuickerWay, kinds> ways_;
  QuickerWay* latest_ = nullptr;
};

/// What has been found out on one communicator, by folders: their files are on one file system, as
/// a rule.
class KnownWays {
 public:
  using OfBoth = std::array<QuickerWays, 2>;  ///< of reads and writes

  /// `folder`: a hash of its name. Null: nothing is known.
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
