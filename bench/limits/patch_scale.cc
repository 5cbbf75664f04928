// The planning of patches alone at scale (H §IV-A, §IV-C): no data and no messages between
// processes, only the planners, of all ranks one after another on one core.
//
// Owners: cubes of patches of 64³ on cubes of ranks, H's 1600³ on 4,096 ranks, the same for 32,768,
// and four million patches on a million ranks, by the rule of plan/patch_distribution.h; up to
// 32,768 ranks by the greedy and the sequential rule of H besides, which know all ranks' parts.
// What counts is the rank with most patches, for which all others wait, and the bytes that move.
//
// Files: the patches' sizes are made, like those of a flame and of turbulence (the totals are those
// of H's table I, a patch, and the fields are defined in plan/balanced_files_testing.h), and dealt
// to N to N/64 files. What counts is the largest file. The rules of H know all sizes.
//
// forebay-patch-scale [--side N] [--json FILE]   N³ ranks with blocks of 100³; else those above
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "patches/plan/balanced_files_testing.h"
#include "patches/plan/patch_distribution_testing.h"
#include "plan/file_aggregators.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of the process so far.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Cube {
  int side;      // ranks
  Count length;  // of the domain
};

PatchDomain domain_of(const Cube& cube) {
  return PatchDomain(std::vector<Count>(3, cube.length), std::vector<int>(3, cube.side), 64);
}

json told_of_owners(const PatchDomain& domain, const std::string& rule, const PatchOwners& found,
                    double seconds) {
  const auto counts = patch_counts(found.owners, domain.ranks());
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  const double percent = 100 * moved(domain, found.owners);
  const double ranks = domain.ranks();
  std::printf("%9d %9lld  %-18s %4lld - %-4lld %7.1f", domain.ranks(),
              static_cast<long long>(domain.patches()), rule.c_str(),
              static_cast<long long>(*least), static_cast<long long>(*most), percent);
  if (found.notes > 0)
    std::printf(" %6d %7.2f %8.1f %8.1f", found.rounds,
                100 * static_cast<double>(found.dealt) / static_cast<double>(domain.patches()),
                static_cast<double>(found.messages) / ranks,
                static_cast<double>(found.notes) / ranks);
  else
    std::printf(" %6s %7s %8s %8s", "", "", "", "");
  std::printf(" %8.2f %8.0f\n", seconds, peak_mib());
  return {{"workload", "patch-owners"},
          {"backend", rule},
          {"operation", "plan"},
          {"ranks", domain.ranks()},
          {"patches", domain.patches()},
          {"least", *least},
          {"most", *most},
          {"moved_percent", percent},
          {"rounds", found.rounds},
          {"dealt", found.dealt},
          {"notes", found.notes},
          {"messages", found.messages},
          {"seconds", {seconds}},
          {"peak_mib", peak_mib()}};
}

std::vector<Rank> plan_owners(const PatchDomain& domain, json& records) {
  auto start = Clock::now();
  PatchOwners ours = distribute(domain);
  records.push_back(told_of_owners(domain, "ours", ours, since(start)));
  if (domain.ranks() <= 1 << 15) {
    start = Clock::now();
    const PatchHolders holders(domain);
    PatchOwners other{greedy_owners(holders)};
    records.push_back(told_of_owners(domain, "greedy", other, since(start)));
    start = Clock::now();
    other.owners = sequential_owners(holders, domain.ranks());
    records.push_back(told_of_owners(domain, "sequential (H)", other, since(start)));
  }
  return std::move(ours.owners);
}

void plan_files(const PatchDomain& domain, std::span<const Rank> owners, const std::string& field,
                json& records) {
  const int ranks = domain.ranks();
  const MortonOrder order(domain.patch_grid());
  const bool flame = field == "flame";
  // A mean patch has as many bytes as in H's table I: 786,616,672 in 41,600, or 38,989,451,056 in
  // 262,144.
  const Count mean = flame ? 786616672 / 41600 : 38989451056 / 262144;
  const auto sizes = flame ? flame_sizes(domain.patch_grid(), mean * domain.patches())
                           : turbulence_sizes(domain.patch_grid(), mean * domain.patches());
  std::vector<Count> at(3);
  const auto owner_of = [&](Count n) {
    order.position_of(n, at);
    const auto& grid = domain.grid();
    const Count id = (at[0] * grid.grid_length(1) + at[1]) * grid.grid_length(2) + at[2];
    return owners[static_cast<std::size_t>(id)];
  };
  const auto total = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), Count{0}));
  for (Count files = ranks; files >= std::max<Count>(ranks / 64, 1); files /= 2) {
    const auto start = Clock::now();
    const auto file = balance(sizes, files, ranks, owner_of);
    const FileAggregators aggregators(files, std::vector<int>(std::size_t(ranks), 1));
    Count sum = 0;
    for (Count f = 0; f < files; ++f) sum += aggregators.of(f).node;
    const double seconds = since(start);
    if (sum > Count{ranks} * files) std::printf("no ranks\n");  // so that nothing is left out
    const double ours = imbalance(sizes, file, files);
    const double running = imbalance(sizes, by_running_average(sizes, files), files);
    const double counts = imbalance(sizes, by_equal_counts(sizes, files), files);
    const double best =
        static_cast<double>(least_largest_file(sizes, files)) * static_cast<double>(files) / total;
    std::printf("%9d %9lld  %-11s %9lld %8.3f %8.3f %8.3f %8.3f %8.2f %8.0f\n", ranks,
                static_cast<long long>(domain.patches()), field.c_str(),
                static_cast<long long>(files), ours, running, counts, best, seconds, peak_mib());
    records.push_back({{"workload", "patch-files"},
                       {"backend", "forebay"},
                       {"operation", "plan"},
                       {"field", field},
                       {"ranks", ranks},
                       {"patches", domain.patches()},
                       {"files", files},
                       {"largest_over_mean", ours},
                       {"running_average", running},
                       {"equal_counts", counts},
                       {"optimum", best},
                       {"seconds", {seconds}},
                       {"peak_mib", peak_mib()}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Cube> cubes{{16, 1600}, {32, 3200}, {100, 10240}};
  const char* json_path = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int side = std::clamp(std::atoi(argv[i + 1]), 1, 200);
    if (!std::strcmp(argv[i], "--side")) cubes = {{side, Count{100} * side}};
    if (!std::strcmp(argv[i], "--json")) json_path = argv[i + 1];
  }
  json records = json::array();
  for (const Cube& cube : cubes) {
    const PatchDomain domain = domain_of(cube);
    std::printf("%9s %9s  %-18s %11s %7s %6s %7s %8s %8s %8s %8s\n", "ranks", "patches",
                "owners by", "patches", "moved %", "rounds", "dealt %", "messages", "notes", "s",
                "MiB");
    const auto owners = plan_owners(domain, records);
    std::printf("%9s %9s  %-11s %9s %8s %8s %8s %8s %8s %8s\n", "ranks", "patches", "sizes of",
                "files", "max/mean", "H", "counts", "optimum", "s", "MiB");
    for (const char* field : {"flame", "turbulence"}) plan_files(domain, owners, field, records);
  }
  if (json_path) std::ofstream(json_path) << records.dump(1) << '\n';
  return 0;
}
