#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/thread_ranks.h"
#include "transport/window_visits.h"

namespace forebay {
namespace window_visits_ranks_test {

// Nodes have 2, 2 and 1 ranks. Rank 3 has nothing; in every other part, neither has the last node.
constexpr int ranks = 5, per_node = 2, parts = 6;
// Few windows need one reduction; many need messages.
constexpr Count window = 4096, few = 88, many = 100;

bool touches(Rank rank, int part, Count w) {
  if (rank == 3 || (rank == 4 && part % 2 == 1)) return false;
  return (w * 7 + rank * 3 + part) % 5 < 2;
}
bool node_touches(const Topology& topology, int node, int part, Count w) {
  for (const Rank r : topology.ranks_of(node))
    if (touches(r, part, w)) return true;
  return false;
}
WindowGrid part_at(int part, int homes, Count windows) {
  WindowGrid grid{window, part * windows, windows, homes};
  return grid;
}

std::vector<Visit> expected(const Topology& topology, Rank rank, int part, const WindowGrid& grid) {
  std::vector<Visit> all;
  Count turns[2] = {};
  for (Count w = grid.first; w < grid.first + grid.count; ++w) {
    Visit v{.window = w, .mine = touches(rank, part, w)};
    v.home = grid.home_of(w) == topology.my_node();
    for (const Rank r : topology.ranks_of(topology.my_node())) v.ranks += touches(r, part, w);
    for (int node = 0; grid.home_of(w) == topology.my_node() && node < topology.nodes(); ++node)
      v.nodes += node != topology.my_node() && node_touches(topology, node, part, w);
    if (v.ranks == 0 && v.nodes == 0) continue;
    v.turn = turns[v.home]++;
    all.push_back(v);
  }
  return all;
}

void expect_same(const std::vector<Visit>& found, const std::vector<Visit>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].window, wanted[i].window);
    EXPECT_EQ(found[i].ranks, wanted[i].ranks) << found[i].window;
    EXPECT_EQ(found[i].nodes, wanted[i].nodes) << found[i].window;
    EXPECT_EQ(found[i].mine, wanted[i].mine) << found[i].window;
    EXPECT_EQ(found[i].home, wanted[i].home) << found[i].window;
    EXPECT_EQ(found[i].turn, wanted[i].turn) << found[i].window;
  }
}

TouchedWindows touched_by(Rank rank, int part, const WindowGrid& grid) {
  TouchedWindows touched(grid);
  for (Count w = grid.first; w < grid.first + grid.count; ++w)
    if (touches(rank, part, w)) touched.mark(w * window + 5, w * window + 9);
  return touched;
}

void come(const Comm& comm) {
  if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(WindowVisits, name_who_has_pieces_in_a_window) {
  for (const int homes : {1, 3}) {
    for (const int ranks_per_node : {per_node, 1, ranks}) {
      run_as_threads(ranks, [&](const Comm& comm) {
        const Topology& topology = Topology::of(comm, ranks_per_node);
        std::vector<Visit> visits;
        int meetings = 0;
        comm.before_meetings([&] { ++meetings; });
        for (int part = 0; part < parts; ++part) {
          come(comm);
          const Count windows = part % 3 == 0 ? many : few;
          const WindowGrid grid = part_at(part, homes, windows);
          const TouchedWindows touched = touched_by(comm.rank(), part, grid);
          const int before = meetings;
          plan_visits(comm, topology, grid, &touched, std::nullopt, visits);
          if (windows == few) EXPECT_EQ(meetings, before + 1);
          expect_same(visits, expected(topology, comm.rank(), part, grid));
        }
        comm.before_meetings({});
      });
    }
  }
}

TEST(WindowVisits, a_rank_that_does_not_know_its_windows_stops_nobody) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const Topology& topology = Topology::of(comm, per_node);
    std::vector<Visit> visits;
    for (int part = 0; part < 2 * ranks; ++part) {
      come(comm);
      const WindowGrid grid = part_at(part, topology.nodes(), part < ranks ? few : many);
      const TouchedWindows touched = touched_by(comm.rank(), part, grid);
      const bool fails = comm.rank() == part % ranks;
      std::optional<Error> mine;
      if (fails) mine = Error(Errc::enomem);
      const auto failed = attempt_to(
          [&] { plan_visits(comm, topology, grid, fails ? nullptr : &touched, mine, visits); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::enomem);
      plan_visits(comm, topology, grid, &touched, std::nullopt, visits);
      expect_same(visits, expected(topology, comm.rank(), part, grid));
    }
  });
}

// Windows visited before stop nobody either, even if they are too many for one reduction.
TEST(WindowVisits, a_rank_that_fails_behind_a_large_part_brings_nothing_of_it) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const Topology& topology = Topology::of(comm, per_node);
    for (int part = 0; part < ranks; ++part) {
      std::vector<Visit> visits;
      const WindowGrid large = part_at(part, topology.nodes(), WindowGrid::most_together),
                       small = part_at(part, topology.nodes(), few);
      const TouchedWindows all = touched_by(comm.rank(), part, large);
      plan_visits(comm, topology, large, &all, std::nullopt, visits);
      come(comm);
      std::optional<Error> mine;
      if (comm.rank() == part) mine = Error(Errc::enomem);
      const TouchedWindows touched = touched_by(comm.rank(), part, small);
      const auto failed = attempt_to(
          [&] { plan_visits(comm, topology, small, mine ? nullptr : &touched, mine, visits); });
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Errc::enomem);
    }
  });
}

}  // namespace window_visits_ranks_test
}  // namespace forebay
