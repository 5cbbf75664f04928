// The walk of all ranks of one node over the windows of an operation, by one process: what a node
// has for a window is the union of what its ranks have, in whatever order they come.
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
  /// Of ranks [begin, end).
  NodeWalk(const Workload& workload, Count operation, Rank begin, Rank end, bool write);

  Count bytes() const { return bytes_; }  ///< that the ranks ask for

  /// Calls f(window, runs) for each window of the grid that a rank touches, in order; `runs`, which
  /// are apart, hold until f returns. Once. In `cover` nothing is marked, before and after: setting
  /// it up takes longer than a node with a few large pieces does.
  template <typename F>
  void for_each_window(const WindowGrid& grid, RunCover& cover, F&& f);

 private:
  struct RankWalk {
    std::vector<Request> requests;
    CanonicalStream stream;
    ExtentReader reader;
    Offset next = 0;

    RankWalk(std::vector<Request>&& r, const Schema& schema, bool write)
        : requests(std::move(r)), stream(requests, schema, write), reader(stream) {}
  };
  /// So many units are looked at together, as long as that is a window: they stay in the cache.
  static constexpr Count units_together = Count{1} << 22;

  void go_on(RankWalk& rank, const WindowGrid& span, TouchedWindows& touched, RunCover& cover);
  void drop_finished();

  std::vector<std::unique_ptr<RankWalk>> ranks_;  // that have pieces left
  Count bytes_ = 0;
  int shift_ = 0;  // a unit is 1 << shift_ bytes: all pieces begin and end between two
  std::vector<WindowRun> runs_;
};

template <typename F>
void NodeWalk::for_each_window(const WindowGrid& grid, RunCover& cover, F&& f) {
  if (ranks_.empty()) return;
  const Count units = grid.size >> shift_;
  const Count together = std::min(grid.count, std::max<Count>(units_together / units, 1));
  cover.make_room(units * together);
  while (!ranks_.empty()) {
    Offset begin = ranks_.front()->next;
    for (const auto& rank : ranks_) begin = std::min(begin, rank->next);
    WindowGrid span = grid.part_from(begin);
    span.count = std::min(span.count, together);
    TouchedWindows touched(span);
    for (const auto& rank : ranks_)
      if (rank->next < span.end()) go_on(*rank, span, touched, cover);
    drop_finished();
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
