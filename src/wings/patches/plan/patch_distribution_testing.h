// Data for tests and simulations of the distribution of patches: domains that are partitioned over
// ranks, and two other rules to compare with. Only tests and bench/limits/patch_scale.cc use this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "array/chunk_grid.h"
#include "patches/plan/patch_owners.h"

namespace forebay {

/// A domain of bytes. It is partitioned over a grid of ranks into blocks of nearly equal lengths,
/// and into patches of `edge` in every dimension. Slowest dimension first, also for the numbers of
/// ranks.
class PatchDomain {
 public:
  PatchDomain(const std::vector<Count>& shape, std::vector<int> ranks, Count edge)
      : ranks_(std::move(ranks)), grid_(variable(shape), std::vector<Count>(shape.size(), edge)) {}

  int ranks() const {
    int n = 1;
    for (const int r : ranks_) n *= r;
    return n;
  }
  Count patches() const { return grid_.chunks(0); }
  std::vector<Count> patch_grid() const {
    std::vector<Count> lengths(grid_.lengths().size());
    for (int d = 0; d < grid_.ndims(); ++d)
      lengths[static_cast<std::size_t>(d)] = grid_.grid_length(d);
    return lengths;
  }
  const ChunkGrid& grid() const { return grid_; }

  void parts_of(Rank rank, std::vector<PatchPart>& parts) const {
    parts.clear();
    for (const ChunkTouch& t : touched_chunks(grid_, block_of(rank)))
      if (t.bytes > 0) parts.push_back({t.chunk, t.bytes});
  }

 private:
  static Variable variable(const std::vector<Count>& shape) {
    Variable v;
    v.type = Type::byte;
    v.shape = shape;
    return v;
  }
  Request block_of(Rank rank) const {
    Subarray block;
    const std::size_t n = ranks_.size();
    block.start.resize(n);
    block.count.resize(n);
    for (std::size_t d = n; d-- > 0;) {
      const Count at = rank % ranks_[d], length = grid_.lengths()[d];
      rank /= ranks_[d];
      block.start[d] = length * at / ranks_[d];
      block.count[d] = length * (at + 1) / ranks_[d] - block.start[d];
    }
    Request request;
    request.selection = std::move(block);
    return request;
  }

  std::vector<int> ranks_;
  ChunkGrid grid_;
};

inline PatchOwners distribute(const PatchDomain& domain) {
  return distribute(domain.ranks(), domain.patches(),
                    [&](Rank r, auto& parts) { domain.parts_of(r, parts); });
}

/// How many patches each rank has.
inline std::vector<Count> patch_counts(std::span<const Rank> owners, int ranks) {
  std::vector<Count> counts(static_cast<std::size_t>(ranks), 0);
  for (const Rank owner : owners)
    if (owner >= 0) ++counts[static_cast<std::size_t>(owner)];
  return counts;
}

/// How many ranks have each number of patches.
inline std::map<Count, Count> ranks_by_patches(std::span<const Rank> owners, int ranks) {
  std::map<Count, Count> histogram;
  for (const Count n : patch_counts(owners, ranks)) ++histogram[n];
  return histogram;
}

/// The fraction of all bytes that moves to another rank.
inline double moved(const PatchDomain& domain, std::span<const Rank> owners) {
  double all = 0, away = 0;
  std::vector<PatchPart> parts;
  for (Rank r = 0; r < domain.ranks(); ++r) {
    domain.parts_of(r, parts);
    for (const PatchPart& part : parts) {
      const auto bytes = static_cast<double>(part.bytes);
      all += bytes;
      if (owners[static_cast<std::size_t>(part.patch)] != r) away += bytes;
    }
  }
  return away / all;
}

/// The ranks with parts of each patch, in increasing order.
struct PatchHolders {
  struct Holder {
    Rank rank;
    Count bytes;
  };
  std::vector<std::vector<Holder>> of;

  explicit PatchHolders(const PatchDomain& domain)
      : of(static_cast<std::size_t>(domain.patches())) {
    std::vector<PatchPart> parts;
    for (Rank r = 0; r < domain.ranks(); ++r) {
      domain.parts_of(r, parts);
      for (const PatchPart& part : parts)
        of[static_cast<std::size_t>(part.patch)].push_back({r, part.bytes});
    }
  }
};

/// The greedy rule of Fan et al. 2021, §IV-A: a patch goes to the rank that has most of it, the
/// lowest one of several.
inline std::vector<Rank> greedy_owners(const PatchHolders& holders) {
  std::vector<Rank> owners;
  for (const auto& of : holders.of) {
    const auto most = std::max_element(
        of.begin(), of.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    owners.push_back(most == of.end() ? -1 : most->rank);
  }
  return owners;
}

/// The rule of Fan et al. 2021, §IV-A. Patches that one rank has alone stay. The others, in order,
/// go to the lowest rank with a part that is below its target, else to the lowest rank of all that
/// is. If there is none, since some rank has more than its target, they go to the last rank.
inline std::vector<Rank> sequential_owners(const PatchHolders& holders, int ranks) {
  const auto patches = std::ssize(holders.of);
  std::vector<Rank> owners(holders.of.size(), -1);
  std::vector<Count> room(static_cast<std::size_t>(ranks));
  for (Rank r = 0; r < ranks; ++r)
    room[static_cast<std::size_t>(r)] = patch_target(r, ranks, patches);
  const auto give = [&](std::size_t patch, Rank to) {
    owners[patch] = to;
    --room[static_cast<std::size_t>(to)];
  };
  for (std::size_t p = 0; p < owners.size(); ++p)
    if (holders.of[p].size() == 1) give(p, holders.of[p][0].rank);
  Rank lowest = 0;
  for (std::size_t p = 0; p < owners.size(); ++p) {
    const auto& of = holders.of[p];
    if (of.size() < 2) continue;
    const auto below = std::find_if(of.begin(), of.end(), [&](const auto& h) {
      return room[static_cast<std::size_t>(h.rank)] > 0;
    });
    while (lowest < ranks - 1 && room[static_cast<std::size_t>(lowest)] <= 0) ++lowest;
    give(p, below != of.end() ? below->rank : lowest);
  }
  return owners;
}

}  // namespace forebay
