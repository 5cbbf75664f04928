// Chunk owners alone at scale (Hou 2023, §5.2.5): no data, no messages, only the planner, on
// patterns of up to 4,096 ranks, against the rule of the paper (linear penalty) and the one that it
// attributes to HDF5 (largest access). What counts is the work of the busiest rank, for which all
// others wait, and the bytes that move between ranks. Work is proportional to bytes. The two other
// rules are written to be read, and their times are not those of an implementation that is meant to
// be fast.
//
// forebay-owner-scale [--ranks N] [--seed N] [--json FILE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "plan/chunk_owners.h"
#include "plan/chunk_owners_testing.h"

namespace {

using namespace forebay;
using Clock = std::chrono::steady_clock;

constexpr Count mib = Count{1} << 20;

// Three variables of which every rank writes three neighbouring chunks of its own in each.
OwnerPattern own_chunks(int ranks) {
  OwnerPattern p;
  for (int var = 0; var < 3; ++var) {
    for (int k = 0; k < 3 * ranks; ++k) {
      p.accesses.push_back({static_cast<std::uint32_t>(p.chunks.size()), k / 3, mib});
      p.add_chunk(var, mib, static_cast<double>(mib));
    }
  }
  return p;
}

// One variable of which every rank touches a little of each chunk.
OwnerPattern scattered(int ranks, int chunks) {
  OwnerPattern p;
  for (int k = 0; k < chunks; ++k) {
    p.add_chunk(0, mib, static_cast<double>(mib));
    for (Rank r = 0; r < ranks; ++r)
      p.accesses.push_back({static_cast<std::uint32_t>(k), r, mib / ranks});
  }
  return p;
}

struct Case {
  std::string name;
  OwnerPattern pattern;
};

std::vector<Case> cases_for(int ranks, unsigned seed) {
  std::vector<Case> cases;
  cases.push_back({"108 variables, 1-5 chunks", event_groups(ranks, 5.0 * 1024, seed)});
  cases.push_back({"108 variables, GiBs", event_groups(ranks, 450.0 * 1024, seed)});
  cases.push_back({"own chunks", own_chunks(ranks)});
  cases.push_back({"scattered", scattered(ranks, 500)});
  return cases;
}

struct Rule {
  std::string name;
  std::function<std::vector<Rank>(const OwnerPattern&, int)> assign;
};

std::vector<Rule> rules() {
  return {
      {"fair share (ours)", [](const OwnerPattern& p, int n) { return p.owners(n); }},
      {"fair share, by offers",
       [](const OwnerPattern& p, int n) { return by_offers(p.chunks, p.accesses, n); }},
      {"linear penalty (Hou 2023)",
       [](const OwnerPattern& p, int n) { return linear_penalty(p.chunks, p.accesses, n, 1.0); }},
      {"largest access (HDF5)", [](const OwnerPattern& p, int n) {
         return largest_access_wins(p.accesses, n, p.variable);
       }}};
}

nlohmann::json run(const Case& c, const Rule& rule, int ranks) {
  std::vector<Rank> owners;
  double best = 1e300;
  for (int round = 0; round < 3; ++round) {
    const auto start = Clock::now();
    owners = rule.assign(c.pattern, ranks);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  const OwnerFacts facts = c.pattern.judge(owners, ranks);
  double largest = 0;
  for (const ChunkWork& chunk : c.pattern.chunks) largest = std::max(largest, chunk.work);
  const double touched = static_cast<double>(facts.bytes_moved + facts.bytes_local);
  const double moved = 100 * static_cast<double>(facts.bytes_moved) / touched;
  const double to_mean = facts.busiest / facts.mean;
  const double to_bound = facts.busiest / std::max(facts.mean, largest);
  const std::size_t used = std::set<Rank>(owners.begin(), owners.end()).size();
  std::printf("%-26s %6d %7zu %9zu  %-22s %9.3f %9.2f %9.2f %7zu %7.1f\n", c.name.c_str(), ranks,
              c.pattern.chunks.size(), c.pattern.accesses.size(), rule.name.c_str(), best * 1e3,
              to_mean, to_bound, used, moved);
  return {{"workload", "owner-scale"},
          {"backend", rule.name},
          {"operation", "plan"},
          {"case", c.name},
          {"ranks", ranks},
          {"chunks", c.pattern.chunks.size()},
          {"accesses", c.pattern.accesses.size()},
          {"seconds", {best}},
          {"busiest_over_mean", to_mean},
          {"busiest_over_bound", to_bound},
          {"owners", used},
          {"moved_percent", moved}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> all_ranks{16, 256, 4096};
  unsigned seed = 1;
  const char* json_path = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--ranks")) all_ranks = {std::max(std::atoi(argv[i + 1]), 1)};
    if (!std::strcmp(argv[i], "--seed")) seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--json")) json_path = argv[i + 1];
  }
  std::printf("bound: the mean or the largest chunk, below which no assignment gets\n");
  std::printf("%-26s %6s %7s %9s  %-22s %9s %9s %9s %7s %7s\n", "case", "ranks", "chunks",
              "accesses", "rule", "ms", "max/mean", "max/bound", "owners", "moved %");
  nlohmann::json records = nlohmann::json::array();
  for (int ranks : all_ranks) {
    for (const Case& c : cases_for(ranks, seed)) {
      for (const Rule& rule : rules()) records.push_back(run(c, rule, ranks));
    }
  }
  if (json_path) std::ofstream(json_path) << records.dump(1) << '\n';
  return 0;
}
