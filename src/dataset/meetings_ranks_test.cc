// How often ranks meet in a collective call: beside small ones little else takes time.
#include <gtest/gtest.h>

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
        ds->close();
      });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace forebay
