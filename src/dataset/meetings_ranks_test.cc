// How often ranks meet in a collective call: beside small ones little else takes time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "comm/thread_ranks.h"
#include "dataset/dataset.h"

namespace forebay {
namespace {

constexpr int ranks = 4;
constexpr Count rows = 50;

/// Every rank has one element of each row.
Request column(VarId var, Rank rank, bool write, std::vector<std::int32_t>& values) {
  Request r;
  r.var = var;
  r.write = write;
  r.selection = Subarray{{0, rank}, {rows, 1}, {}};
  r.elements = rows;
  values.resize(rows);
  r.memory.data = reinterpret_cast<std::byte*>(values.data());
  r.memory.type = Type::int32;
  return r;
}

struct Calls {
  int write = 0, read = 0;
};

/// Of the second write and the second read of a file; a first one finds out who is on which node.
Calls meetings(const char* ranks_per_node) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_" + ranks_per_node + ".nc";
  std::array<Calls, ranks> all;
  run_as_threads(ranks, [&](const Comm& comm) {
    const HintMap hints{{"ranks_per_node", ranks_per_node}, {"transport", "aggregated"}};
    auto ds = Dataset::create(comm, path, 5, false, hints);
    const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
    const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
    ds->enddef();
    int count = 0;
    comm.before_meetings([&] { ++count; });
    Calls& mine = all[static_cast<std::size_t>(comm.rank())];
    for (int time = 0; time < 2; ++time) {
      std::vector<std::int32_t> written(rows), found;
      std::iota(written.begin(), written.end(), 1000 * comm.rank() + time);
      std::vector<Request> one;
      one.push_back(column(var, comm.rank(), true, written));
      count = 0;
      ds->execute(one, true);
      mine.write = count;
      one.clear();
      one.push_back(column(var, comm.rank(), false, found));
      count = 0;
      ds->execute(one, true);
      mine.read = count;
      EXPECT_EQ(found, written);
    }
    comm.before_meetings({});
    ds->close();
  });
  std::filesystem::remove(path);
  for (const Calls& of_rank : all) {
    EXPECT_EQ(of_rank.write, all[0].write);
    EXPECT_EQ(of_rank.read, all[0].read);
  }
  return all[0];
}

// What all ask for travels with what a call tells in any case, and errors with the end.
TEST(MeetingsOfACall, are_two_a_call_on_one_node) {
  const Calls calls = meetings("0");
  EXPECT_EQ(calls.write, 2);
  EXPECT_EQ(calls.read, 2);
}

// One more tells which nodes have pieces in which window.
TEST(MeetingsOfACall, are_three_a_call_between_nodes) {
  for (const char* ranks_per_node : {"2", "3"}) {
    const Calls calls = meetings(ranks_per_node);
    EXPECT_EQ(calls.write, 3);
    EXPECT_EQ(calls.read, 3);
  }
}

// Who writes, who reads and who has nothing is each rank's matter: what they foresaw holds where
// all go one way.
TEST(MeetingsOfACall, carry_out_what_ranks_ask_for_each) {
  const std::string path = ::testing::TempDir() + "/forebay_meetings_mixed.nc";
  for (const char* transport : {"auto", "aggregated", "posix"})
    for (const char* ranks_per_node : {"0", "2"})
      run_as_threads(ranks, [&](const Comm& comm) {
        const HintMap hints{{"ranks_per_node", ranks_per_node}, {"transport", transport}};
        auto ds = Dataset::create(comm, path, 5, false, hints);
        const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
        const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
        ds->def_var("between", Type::byte, std::array{ds->def_dim("many", 4 << 20)});
        const VarId far = ds->def_var("w", Type::int32, std::array{y, x});
        ds->enddef();
        const auto written_by = [](Rank rank, int time) {
          std::vector<std::int32_t> values(rows);
          std::iota(values.begin(), values.end(), 1000 * rank + 100 * time);
          return values;
        };
        std::array<int, ranks> latest{};
        // Bits of ranks that write, and that read the column of the rank below.
        const unsigned all = 15;
        const std::pair<unsigned, unsigned> operations[] = {
            {all, 0}, {5, 10}, {0, 8}, {2, 0}, {0, 0}, {1, 4}, {0, all}, {8, all}, {all, all}};
        int time = 0;
        for (const auto& [writers, readers] : operations) {
          ++time;
          const Rank me = comm.rank(), other = (me + ranks - 1) % ranks;
          std::vector<Request> mine;
          std::vector<std::int32_t> written, found;
          for (Rank r = 0; r < ranks; ++r)
            if (writers >> r & 1) latest[static_cast<std::size_t>(r)] = time;
          if (writers >> me & 1) {
            written = written_by(me, time);
            mine.push_back(column(var, me, true, written));
          }
          if (readers >> me & 1) mine.push_back(column(var, other, false, found));
          ds->execute(mine, true);
          if (readers >> me & 1)
            EXPECT_EQ(found, written_by(other, latest[static_cast<std::size_t>(other)]))
                << transport << ' ' << ranks_per_node << ' ' << time;
        }
        // Reads of another part of the file than writes.
        std::vector<std::int32_t> written = written_by(comm.rank(), ++time), found;
        std::vector<Request> mine;
        mine.push_back(column(far, comm.rank(), true, written));
        ds->execute(mine, true);
        mine.clear();
        mine.push_back(column(var, comm.rank(), true, written));
        mine.push_back(column(far, comm.rank(), false, found));
        ds->execute(mine, true);
        EXPECT_EQ(found, written);
        ds->close();
      });
  std::filesystem::remove(path);
}

// Ranks tell the leader of a group their patterns in one call, or, where these are too much for
// all to have, in messages. Without them nobody else finds the values.
TEST(PatternsOfACall, reach_the_leader_however_they_go) {
  const std::string path = ::testing::TempDir() + "/forebay_patterns.nc";
  constexpr Count each = 64;
  for (const char* memory : {"64MiB", "4KiB"}) {
    // Rank 1 has nothing, and each of the others more runs than the one before.
    const auto places = [](Rank rank) {
      std::vector<Count> mine;
      if (rank == 1) return mine;
      for (Count i = 0; i < 6 * (rank + 1); ++i) mine.push_back(rank * each + i * i % each);
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      return mine;
    };
    run_as_threads(ranks, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false,
                                {{"layout", "decomposed"}, {"buffer_limit", memory}});
      ds->def_var("v", Type::int32, std::array{ds->def_dim("x", ranks * each)});
      ds->enddef();
      const auto mine = places(comm.rank());
      std::vector<std::int32_t> values(mine.begin(), mine.end());
      std::vector<forebay::Run> runs;
      for (const Count place : mine) runs.push_back({4 * place, 4});
      std::vector<Request> one(1);
      one[0].var = 0;
      one[0].write = true;
      one[0].selection =
          Runs{std::make_shared<const RunList>(sorted_run_list(std::move(runs), {}, true))};
      one[0].elements = std::ssize(mine);
      one[0].memory.data = reinterpret_cast<std::byte*>(values.data());
      one[0].memory.type = Type::int32;
      ds->execute(one, true);
      ds->close();
    });
    auto ds = Dataset::open(Comm(), path, false, {});
    std::vector<std::int32_t> found(ranks * each);
    std::vector<Request> one(1);
    one[0].var = 0;
    one[0].selection = Subarray{{0}, {ranks * each}, {}};
    one[0].elements = ranks * each;
    one[0].memory.data = reinterpret_cast<std::byte*>(found.data());
    one[0].memory.type = Type::int32;
    ds->execute(one, true);
    for (Rank rank = 0; rank < ranks; ++rank)
      for (const Count place : places(rank))
        EXPECT_EQ(found[static_cast<std::size_t>(place)], place) << memory;
    ds->close();
    std::filesystem::remove_all(path + ".subfiles");
    std::filesystem::remove(path);
  }
}

// Not even whether there is a newer commit.
TEST(ReadsOfNothing, read_nothing) {
  const std::string path = ::testing::TempDir() + "/forebay_reads_of_nothing.nc";
  const Comm alone;
  std::vector<std::int32_t> values(rows, 7), found;
  std::vector<Request> one;
  {
    auto ds = Dataset::create(alone, path, 5, false, {{"layout", "decomposed"}});
    const DimId y = ds->def_dim("y", rows), x = ds->def_dim("x", ranks);
    const VarId var = ds->def_var("v", Type::int32, std::array{y, x});
    ds->enddef();
    one.push_back(column(var, 0, true, values));
    ds->execute(one, true);
    ds->close();
  }
  auto ds = Dataset::open(alone, path, false, {});
  const auto calls = [&](Count count) {
    one.clear();
    one.push_back(column(0, 0, false, found));
    std::get<Subarray>(one[0].selection).count[0] = one[0].elements = count;
    const std::int64_t before = ds->report().counters[static_cast<int>(Counter::read_calls)];
    ds->execute(one, true);
    return ds->report().counters[static_cast<int>(Counter::read_calls)] - before;
  };
  EXPECT_GT(calls(rows), 0);
  EXPECT_EQ(found, values);
  EXPECT_EQ(calls(0), 0);
  ds->close();
  std::filesystem::remove_all(path + ".subfiles");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace forebay
