#include "plan/chunk_owners.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"

namespace forebay {
namespace {

void require_owner(bool holds, const char* what) {
  if (!holds) throw Error(Errc::einternal, std::string("chunk owners: ") + what);
}

void check_input(std::span<const ChunkWork> chunks, std::span<const ChunkAccess> accesses,
                 int ranks, std::span<const double> load_before) {
  require_owner(ranks >= 1, "fewer than one rank");
  require_owner(chunks.size() <= std::numeric_limits<std::uint32_t>::max(), "too many chunks");
  require_owner(load_before.empty() || load_before.size() == static_cast<std::size_t>(ranks),
                "the loads are not one per rank");
  for (const ChunkWork& c : chunks)
    require_owner(std::isfinite(c.work) && c.work >= 0 && c.bytes >= 0,
                  "a chunk of impossible size");
  for (double load : load_before)
    require_owner(std::isfinite(load) && load >= 0, "an impossible load");
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const ChunkAccess& a = accesses[i];
    require_owner(a.chunk < chunks.size() && a.rank >= 0 && a.rank < ranks && a.bytes >= 0,
                  "an access out of range");
    require_owner(i == 0 || accesses[i - 1].chunk < a.chunk ||
                      (accesses[i - 1].chunk == a.chunk && accesses[i - 1].rank < a.rank),
                  "accesses out of order");
  }
}

// The common level of all ranks after adding `work` to the loads `before`, the lowest loads first.
double fair_share(double work, std::span<const double> before, int ranks) {
  if (before.empty()) return work / ranks;
  std::vector<double> sorted(before.begin(), before.end());
  std::sort(sorted.begin(), sorted.end());
  double below = 0;  // loads of the ranks that the level covers
  double level = 0;
  for (std::size_t n = 1; n <= sorted.size(); ++n) {
    below += sorted[n - 1];
    level = (work + below) / static_cast<double>(n);
    if (n == sorted.size() || level <= sorted[n]) break;
  }
  return level;
}

// Finds the rank with the least load, the lowest one of several. Loads only grow, so an outdated
// entry is too low; it is corrected when it comes to the top.
class LeastLoaded {
 public:
  explicit LeastLoaded(const std::vector<double>& loads) : loads_(loads) {
    heap_.reserve(loads.size());
    for (std::size_t r = 0; r < loads.size(); ++r)
      heap_.push_back({loads[r], static_cast<Rank>(r)});
    std::make_heap(heap_.begin(), heap_.end(), After{});
  }

  Rank top() {
    while (heap_.front().load < load_of(heap_.front().rank)) {
      std::pop_heap(heap_.begin(), heap_.end(), After{});
      heap_.back().load = load_of(heap_.back().rank);
      std::push_heap(heap_.begin(), heap_.end(), After{});
    }
    return heap_.front().rank;
  }

 private:
  struct Entry {
    double load;
    Rank rank;
  };
  struct After {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.load != b.load ? a.load > b.load : a.rank > b.rank;
    }
  };

  double load_of(Rank rank) const { return loads_[static_cast<std::size_t>(rank)]; }

  const std::vector<double>& loads_;
  std::vector<Entry> heap_;
};

struct Candidate {
  Rank rank;
  Count access;
  double load, score;

  bool better_than(const Candidate& other) const {
    if (score != other.score) return score > other.score;
    if (access != other.access) return access > other.access;
    if (load != other.load) return load < other.load;
    return rank < other.rank;
  }
};

// first[k] is the index of the first access of chunk k; first[chunks] is their number.
std::vector<std::size_t> starts_of(std::span<const ChunkAccess> accesses, std::size_t chunks) {
  std::vector<std::size_t> first(chunks + 1, 0);
  for (const ChunkAccess& a : accesses) ++first[a.chunk + std::size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

std::vector<std::uint32_t> largest_first(std::span<const ChunkWork> chunks) {
  std::vector<std::uint32_t> order(chunks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return chunks[a].work > chunks[b].work;
  });
  return order;
}

}  // namespace

std::vector<Rank> assign_owners(std::span<const ChunkWork> chunks,
                                std::span<const ChunkAccess> accesses, int ranks,
                                std::span<const double> load_before, const OwnerOptions& options) {
  check_input(chunks, accesses, ranks, load_before);
  require_owner(std::isfinite(options.penalty) && options.penalty >= 0, "an impossible penalty");

  double work = 0, largest = 0, bytes = 0;
  for (const ChunkWork& c : chunks) {
    work += c.work;
    bytes += static_cast<double>(c.bytes);
    largest = std::max(largest, c.work);
  }
  const double share = fair_share(work, load_before, ranks);
  const double limit = share + largest;
  // Work counts as the bytes that take as long, so that it compares with access sizes.
  const double penalty = work > 0 ? options.penalty * bytes / work : 0;

  std::vector<double> loads(load_before.begin(), load_before.end());
  loads.resize(static_cast<std::size_t>(ranks), 0);
  LeastLoaded least_loaded(loads);
  const auto first = starts_of(accesses, chunks.size());

  std::vector<Rank> owners(chunks.size());
  for (const std::uint32_t k : largest_first(chunks)) {
    const auto candidate = [&](Rank rank, Count access) {
      const double load = loads[static_cast<std::size_t>(rank)];
      const double excess = std::max(0.0, load + chunks[k].work - share);
      return Candidate{rank, access, load, static_cast<double>(access) - penalty * excess};
    };
    // The idle rank never exceeds the limit: while work is left, some rank is below the share.
    const Rank idle = least_loaded.top();
    Candidate best = candidate(idle, 0);
    for (std::size_t i = first[k]; i < first[k + std::size_t{1}]; ++i) {
      const Candidate c = candidate(accesses[i].rank, accesses[i].bytes);
      const bool eligible = c.rank == idle || c.load + chunks[k].work <= limit;
      if (eligible && c.better_than(best)) best = c;
    }
    owners[k] = best.rank;
    loads[static_cast<std::size_t>(best.rank)] += chunks[k].work;
  }
  return owners;
}

OwnerFacts judge_owners(std::span<const ChunkWork> chunks, std::span<const ChunkAccess> accesses,
                        std::span<const Rank> owners, int ranks,
                        std::span<const double> load_before) {
  check_input(chunks, accesses, ranks, load_before);
  require_owner(owners.size() == chunks.size(), "the owners are not one per chunk");

  OwnerFacts facts;
  std::vector<double> loads(load_before.begin(), load_before.end());
  loads.resize(static_cast<std::size_t>(ranks), 0);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    require_owner(owners[k] >= 0 && owners[k] < ranks, "an owner that is no rank");
    loads[static_cast<std::size_t>(owners[k])] += chunks[k].work;
  }
  for (const ChunkAccess& a : accesses)
    (a.rank == owners[a.chunk] ? facts.bytes_local : facts.bytes_moved) += a.bytes;
  facts.busiest = *std::max_element(loads.begin(), loads.end());
  facts.mean = std::accumulate(loads.begin(), loads.end(), 0.0) / ranks;
  return facts;
}

}  // namespace forebay
