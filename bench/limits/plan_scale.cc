// Planning alone at production scale: ordering, flattening and file domains of the E3SM F case on
// 21,600 ranks with about 175,000 pieces each, one simulated rank after the other. Nothing is
// communicated or written; what is timed is what every rank does by itself between wait_all and the
// first byte: two-level ordering of its requests, the walk over its extents in file order, and
// finding each extent's window. Then the maps of layout decomposed, and their inverses, for so many
// groups (map_scale.h).
//
// forebay-plan-scale [--ranks N] [--sample N] [--groups N] [--json FILE]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "layout/canonical/canonical.h"
#include "limits/map_scale.h"
#include "plan/windows.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;

constexpr Count columns = 777602;
constexpr int levels = 72;
constexpr int surface_variables = 323, level_variables = 63;

Schema f_case_schema(int times_variables) {
  Schema s;
  s.version = 5;
  s.add_dim({"time", 0});
  s.add_dim({"lev", levels});
  s.add_dim({"ncol", columns});
  Offset begin = 1 << 20;
  auto add = [&](const std::string& name, std::vector<DimId> dimids) {
    Variable v;
    v.name = name;
    v.type = Type::float32;
    v.dimids = std::move(dimids);
    const auto id = static_cast<std::size_t>(s.add_var(std::move(v)));
    s.vars[id].begin = begin;
    begin += s.vars[id].vsize;
  };
  for (int i = 0; i < surface_variables * times_variables; ++i)
    add("s" + std::to_string(i), {0, 2});
  for (int i = 0; i < level_variables * times_variables; ++i)
    add("l" + std::to_string(i), {0, 1, 2});
  s.begin_rec = 1 << 20;
  s.recsize = begin - s.begin_rec;
  s.numrecs = 1;
  return s;
}

/// The columns of one rank: scattered, as a space-filling curve deals them.
std::vector<Count> columns_of(int rank, int ranks) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  std::vector<Count> mine;
  const Count each = columns / ranks;
  for (Count i = 0; i < each; ++i)
    mine.push_back(i * ranks + static_cast<Count>(random() % static_cast<std::uint64_t>(ranks)));
  std::sort(mine.begin(), mine.end());
  return mine;
}

Runs run_list(const std::vector<Count>& mine, int rows) {
  auto list = std::make_shared<RunList>();
  for (int l = 0; l < rows; ++l) {
    for (Count c : mine) list->runs.push_back({(l * columns + c) * 4, 4});
  }
  list->bytes = static_cast<Count>(list->runs.size()) * 4;
  return {std::move(list)};
}

struct Result {
  Count requests = 0, pieces = 0, windows = 0;
  double seconds = 0;
};

Result plan_one_rank(const Schema& schema, int rank, int ranks) {
  const auto mine = columns_of(rank, ranks);
  const auto surface = run_list(mine, 1), level = run_list(mine, levels);
  std::vector<Request> requests(schema.vars.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& r = requests[requests.size() - 1 - i];  // posted in an order that is not the file's
    r.var = static_cast<VarId>(i);
    r.write = true;
    r.selection = schema.vars[i].dimids.size() == 2 ? surface : level;
  }
  Result result;
  const auto start = Clock::now();
  CanonicalStream stream(requests, schema, true);
  const auto grid =
      WindowGrid::over(schema.begin_rec, schema.begin_rec + schema.recsize, 4 << 20, 512);
  WindowGrid part = grid.part_from(schema.begin_rec);
  TouchedWindows touched(part);
  std::vector<Extent> batch(256);
  Count last = -1;
  while (const std::size_t n = stream.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) {
      const Count w = batch[i].offset / grid.size;
      if (w >= part.first + part.count) {
        part = grid.part_from(batch[i].offset);
        touched = TouchedWindows(part);
      }
      if (w != last) {
        touched.mark(batch[i].offset, batch[i].end());
        ++result.windows;
        last = w;
      }
    }
    result.pieces += static_cast<Count>(n);
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result.requests = static_cast<Count>(requests.size());
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 21600, sample = 21600, groups = 257;
  const char* json_path = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--ranks")) ranks = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--sample")) sample = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--groups")) groups = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--json")) json_path = argv[i + 1];
  }
  nlohmann::json records = nlohmann::json::array();
  std::printf("planning alone, E3SM F at ncol %lld x %d, %d ranks, %d of them simulated\n",
              static_cast<long long>(columns), levels, ranks, std::min(sample, ranks));
  std::printf("%10s %14s %14s %12s %12s\n", "variables", "pieces/rank", "windows/rank", "ms/rank",
              "ns/piece");
  for (int times : {1, 2, 4}) {
    const Schema schema = f_case_schema(times);
    // The full set of ranks once; the larger problems, which show that the cost is linear, on
    // fewer.
    const int n = std::min(sample, ranks) / (times == 1 ? 1 : 8 * times);
    Result sum;
    for (int k = 0; k < std::max(n, 1); ++k) {
      const auto rank = static_cast<int>(static_cast<Count>(k) * ranks / std::max(n, 1));
      const Result r = plan_one_rank(schema, rank, ranks);
      sum.pieces += r.pieces;
      sum.windows += r.windows;
      sum.seconds += r.seconds;
    }
    const double per_rank = sum.seconds / std::max(n, 1);
    std::printf("%10zu %14lld %14lld %12.3f %12.2f\n", schema.vars.size(),
                static_cast<long long>(sum.pieces / std::max(n, 1)),
                static_cast<long long>(sum.windows / std::max(n, 1)), per_rank * 1e3,
                sum.seconds / static_cast<double>(sum.pieces) * 1e9);
    records.push_back(
        {{"workload", "plan-scale"},
         {"backend", "forebay"},
         {"operation", "plan"},
         {"ranks", ranks},
         {"simulated_ranks", std::max(n, 1)},
         {"pieces", sum.pieces},
         {"seconds", {sum.seconds}},
         {"nanoseconds_per_piece", sum.seconds / static_cast<double>(sum.pieces) * 1e9}});
  }
  const auto maps = bench::make_maps(ranks, groups, columns, levels,
                                     [&](int rank) { return columns_of(rank, ranks); });
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf(
      "maps of %d groups: %lld runs, %lld inverses, %.1f MB of metadata, %.2f s, %.0f MiB peak\n",
      groups, static_cast<long long>(maps.runs), static_cast<long long>(maps.inverses),
      static_cast<double>(maps.bytes) / 1e6, maps.seconds,
      static_cast<double>(used.ru_maxrss) / 1024);
  records.push_back({{"workload", "map-scale"},
                     {"backend", "forebay"},
                     {"operation", "maps"},
                     {"ranks", ranks},
                     {"groups", groups},
                     {"pieces", maps.runs},
                     {"seconds", {maps.seconds}},
                     {"peak_rss", static_cast<Count>(used.ru_maxrss) * 1024}});
  if (json_path) std::ofstream(json_path) << records.dump(1) << '\n';
  return 0;
}
