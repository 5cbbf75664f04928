// One process walks all ranks of a node over the windows of an operation. The node's data in a
// window is the union of its ranks' data, in any order of the ranks.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "layout/canonical/canonical.h"
#include "plan/windows.h"
#include "simulation/run_cover.h"
#include "simulation/workload.h"
#include "transport/extent_reader.h"
#include "transport/window_message.h"

namespace forebay::simulation {

class NodeWalk {
 public:
  /// For ranks [begin, end).
  NodeWalk(const Workload& workload, Count operation, Rank begin, Rank end, bool write);

  Count bytes() const { return bytes_; }  ///< that the ranks ask for

  /// Calls f(window, runs) for each window of the grid that a rank touches, in order; `runs` are
  /// disjoint and valid until f returns. May be called once. `cover` must have no marks, and has
  /// none afterwards. It is passed in because setting it up can take longer than walking a node
  /// with few large pieces.
  template <typename F>
  void for_each_window(const WindowGrid& grid, RunCover& cover, F&& f);

 private:
  struct RankWalk {
    std::vector<Request> requests;
    CanonicalStream stream;
    ExtentReader reader;

    RankWalk(std::vector<Request>&& r, const Schema& schema, bool write)
        : requests(std::move(r)), stream(requests, schema, write), reader(stream) {}
  };
  /// This many units are processed together, if a window has as many, so that they stay in the
  /// cache.
  static constexpr Count units_together = Count{1} << 22;

  /// A rank with remaining pieces.
  struct Turn {
    Offset next;
    std::unique_ptr<RankWalk> rank;
    bool operator<(const Turn& o) const { return next > o.next; }  // the first one is on top
  };

  void take_turn(const WindowGrid& span, TouchedWindows& touched, RunCover& cover);

  std::vector<Turn> turns_;  // a heap
  Count bytes_ = 0;
  int shift_ = 0;  // a unit is 1 << shift_ bytes: all pieces begin and end at multiples
  std::vector<WindowRun> runs_;
};

template <typename F>
void NodeWalk::for_each_window(const WindowGrid& grid, RunCover& cover, F&& f) {
  if (turns_.empty()) return;
  const Count units = grid.size >> shift_;
  const Count together = std::min(grid.count, std::max<Count>(units_together / units, 1));
  cover.make_room(units * together);
  while (!turns_.empty()) {
    WindowGrid span = grid.part_from(turns_.front().next);
    span.count = std::min(span.count, together);
    TouchedWindows touched(span);
    while (!turns_.empty() && turns_.front().next < span.end()) take_turn(span, touched, cover);
    for (Count i = 0; i < span.count; ++i) {
      if (!TouchedWindows::is_marked(touched.words(), i)) continue;
      runs_.clear();
      cover.take_runs(i * units, (i + 1) * units, [&](Count from, Count to) {
        runs_.push_back({static_cast<std::uint32_t>((from - i * units) << shift_),
                         static_cast<std::uint32_t>((to - i * units) << shift_)});
      });
      f(span.first + i, std::span<const WindowRun>(runs_));
    }
  }
}

}  // namespace forebay::simulation
