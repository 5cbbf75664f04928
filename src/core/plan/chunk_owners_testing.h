// Data for tests and simulations of chunk owners: access patterns, and two other rules to compare
// with chunk_owners.h. Only tests and bench/limits/owner_scale.cc use this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "plan/chunk_offers.h"
#include "plan/chunk_owners.h"

namespace forebay {

/// Chunks of 1-D byte variables, and their accesses. Work is proportional to bytes.
struct OwnerPattern {
  std::vector<ChunkWork> chunks;
  std::vector<ChunkAccess> accesses;
  std::vector<int> variable;  ///< of each chunk

  void add_chunk(int var, Count bytes, double work) {
    chunks.push_back({bytes, work});
    variable.push_back(var);
  }

  /// Adds a variable that the ranks fill block after block: rank r has lengths[r] bytes.
  void append_blocks(int var, const std::vector<Count>& lengths, Count chunk_bytes) {
    Count total = 0;
    for (Count n : lengths) total += n;
    Count begin = 0;  // of the rank's block
    std::size_t r = 0;
    for (Count at = 0; at < total; at += chunk_bytes) {
      const Count end = std::min(at + chunk_bytes, total);
      const auto k = static_cast<std::uint32_t>(chunks.size());
      add_chunk(var, end - at, static_cast<double>(end - at));
      while (r < lengths.size()) {
        const Count touched = std::min(begin + lengths[r], end) - std::max(begin, at);
        if (touched > 0) accesses.push_back({k, static_cast<Rank>(r), touched});
        if (begin + lengths[r] > end) break;
        begin += lengths[r++];
      }
    }
  }

  std::vector<Rank> owners(int ranks, std::span<const double> before = {}) const {
    return assign_owners(chunks, accesses, ranks, before);
  }
  OwnerFacts judge(const std::vector<Rank>& assigned, int ranks,
                   std::span<const double> before = {}) const {
    return judge_owners(chunks, accesses, assigned, ranks, before);
  }
};

/// 108 variables in 15 groups whose sizes span three decades, from `smallest` bytes a variable. All
/// ranks append to them in chunks of 1 MiB (the pattern of Hou 2023, §5.5.3). Ranks have unequal
/// blocks (0.2 to 1.8 of the average), the same in all variables of a group.
inline OwnerPattern event_groups(int ranks, double smallest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> decades(0, 3), share(0.2, 1.8);
  OwnerPattern p;
  for (int group = 0, var = 0; group < 15; ++group) {
    const double bytes = smallest * std::pow(10, decades(random));
    std::vector<Count> lengths;
    for (int r = 0; r < ranks; ++r) lengths.push_back(std::llround(bytes / ranks * share(random)));
    for (int v = 0; v < (group < 3 ? 8 : 7); ++v) p.append_blocks(var++, lengths, Count{1} << 20);
  }
  return p;
}

/// The rule that Hou 2023, §5.2.5 attributes to HDF5. The largest access wins; of equal ones, the
/// rank with fewest chunks of the same variable, then the lowest. HDF5 sees one variable a call, so
/// the counts restart for each; `variable` has each chunk's variable, and chunks of one variable
/// are neighbours. Chunks without access go to rank 0.
inline std::vector<Rank> largest_access_wins(std::span<const ChunkAccess> accesses, int ranks,
                                             std::span<const int> variable) {
  std::vector<Rank> owners(variable.size(), 0);
  std::vector<std::size_t> owned(static_cast<std::size_t>(ranks), 0);
  std::vector<Rank> counted;  // ranks whose entry in `owned` is not 0
  std::size_t i = 0;
  for (std::size_t k = 0; k < variable.size(); ++k) {
    if (k > 0 && variable[k] != variable[k - 1]) {
      for (Rank r : counted) owned[static_cast<std::size_t>(r)] = 0;
      counted.clear();
    }
    Count most = -1;
    for (; i < accesses.size() && accesses[i].chunk == k; ++i) {
      const ChunkAccess& a = accesses[i];
      if (a.bytes > most || (a.bytes == most && owned[static_cast<std::size_t>(a.rank)] <
                                                    owned[static_cast<std::size_t>(owners[k])])) {
        most = a.bytes;
        owners[k] = a.rank;
      }
    }
    ++owned[static_cast<std::size_t>(owners[k])];
    counted.push_back(owners[k]);
  }
  return owners;
}

/// The rule of Hou 2023, §5.2.5 as published: access − penalty × bytes owned already, chunks
/// visited in the given order, every rank a candidate; of equal ranks, the lowest. O(chunks ×
/// ranks).
inline std::vector<Rank> linear_penalty(std::span<const ChunkWork> chunks,
                                        std::span<const ChunkAccess> accesses, int ranks,
                                        double penalty) {
  std::vector<Rank> owners;
  std::vector<double> owned(static_cast<std::size_t>(ranks), 0), score;
  std::size_t i = 0;
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    score.clear();
    for (double bytes : owned) score.push_back(-penalty * bytes);
    for (; i < accesses.size() && accesses[i].chunk == k; ++i)
      score[static_cast<std::size_t>(accesses[i].rank)] += static_cast<double>(accesses[i].bytes);
    const auto best =
        static_cast<std::size_t>(std::max_element(score.begin(), score.end()) - score.begin());
    owners.push_back(static_cast<Rank>(best));
    owned[best] += static_cast<double>(chunks[k].bytes);
  }
  return owners;
}

/// The rule of chunk_offers.h for all ranks at once; rejected chunks are assigned in their order.
inline std::vector<Rank> by_offers(std::span<const ChunkWork> chunks,
                                   std::span<const ChunkAccess> accesses, int ranks) {
  WorkTotals totals;
  totals.ranks = ranks;
  std::vector<ChunkOffer> offers;
  std::vector<std::vector<std::uint32_t>> offered(static_cast<std::size_t>(ranks));
  std::size_t i = 0;
  for (std::uint32_t k = 0; k < chunks.size(); ++k) {
    const std::size_t first = i;
    Count most = 0;
    std::vector<Rank> ties;
    for (; i < accesses.size() && accesses[i].chunk == k; ++i)
      most = std::max(most, accesses[i].bytes);
    for (std::size_t a = first; a < i; ++a)
      if (accesses[a].bytes == most) ties.push_back(accesses[a].rank);
    offers.push_back({std::llround(chunks[k].work), most});
    totals.work += offers[k].work;
    totals.bytes += chunks[k].bytes;
    totals.largest = std::max(totals.largest, offers[k].work);
    if (!ties.empty()) offered[static_cast<std::size_t>(ties[k % ties.size()])].push_back(k);
  }
  std::vector<Rank> owners(chunks.size(), -1);
  std::vector<Count> loads(offered.size(), 0);
  for (std::size_t r = 0; r < offered.size(); ++r) {
    std::stable_sort(offered[r].begin(), offered[r].end(), [&](std::uint32_t a, std::uint32_t b) {
      return offers[a].work > offers[b].work;
    });
    std::vector<ChunkOffer> its;
    for (const std::uint32_t k : offered[r]) its.push_back(offers[k]);
    const auto taken = take_offers(its, totals, loads[r]);
    for (std::size_t n = 0; n < taken.size(); ++n)
      if (taken[n]) owners[offered[r][n]] = static_cast<Rank>(r);
  }
  const Room room(loads, totals);
  Count place = 0;
  for (std::size_t k = 0; k < owners.size(); ++k) {
    if (owners[k] >= 0) continue;
    owners[k] = room.owner_at(place);
    place += offers[k].work;
  }
  return owners;
}

}  // namespace forebay
