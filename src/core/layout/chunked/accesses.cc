#include "layout/chunked/accesses.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace forebay::chunked {
std::optional<std::vector<Access>> gather_accesses(const Comm& comm, std::span<const Access> mine,
                                                   Count most_bytes) {
  std::vector<Access> all(mine.begin(), mine.end());
  for (Access& a : all) a.rank = comm.rank();
  if (comm.size() == 1) return all;
  std::vector<std::int64_t> sizes;
  const auto gathered =
      comm.all_gather_up_to(most_bytes, std::as_bytes(std::span<const Access>(all)), sizes);
  if (!gathered) return std::nullopt;
  all.resize(gathered->size() / sizeof(Access));
  if (!all.empty()) std::memcpy(all.data(), gathered->data(), gathered->size());
  std::sort(all.begin(), all.end(), comes_before);
  return all;
}

namespace {

// The first chunk of every owner, then the second of every owner, and so on.
std::vector<std::uint32_t> owner_by_owner(std::span<const PlannedChunk> chunks, int ranks) {
  std::vector<std::uint32_t> layer(chunks.size()), order(chunks.size());
  std::vector<std::uint32_t> owned(static_cast<std::size_t>(ranks), 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    layer[i] = owned[static_cast<std::size_t>(chunks[i].owner)]++;
    order[i] = static_cast<std::uint32_t>(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return layer[a] < layer[b]; });
  return order;
}

/// Adds chunks to a round until it is full.
class RoundFiller {
 public:
  RoundFiller(std::span<const PlannedChunk> chunks, const KnownAccesses& accesses, int ranks,
              const RoundLimits& limits)
      : chunks_(chunks),
        accesses_(accesses),
        limits_(limits),
        first_(chunks.size() + 1, 0),
        held_(static_cast<std::size_t>(ranks)),
        shared_(held_),
        sent_(held_) {
    for (const ChunkAccess& a : accesses.list) ++first_[a.chunk + std::size_t{1}];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
  }

  /// Returns the end of the round that begins with order[begin]; `last_moved` is for the round
  /// before.
  ///
  /// If a rank only knows its own accesses, another rank may be full first. All ranks look ahead
  /// until about as many bytes move as last time (twice as many while nobody is full), and then
  /// make a reduction. All know the moved bytes, so all take part or none does. Looking ahead until
  /// an owner is full might visit all chunks in every round.
  std::size_t end_of(std::span<const std::uint32_t> order, std::size_t begin, Count last_moved) {
    for (auto* of_ranks : {&held_, &shared_, &sent_})
      std::fill(of_ranks->begin(), of_ranks->end(), 0);
    const bool meets = accesses_.others != nullptr && !limits_.owners_send;
    Count moved = 0, ahead = std::max(limits_.sent, last_moved);
    std::optional<std::size_t> full;  // by the known accesses
    for (std::size_t at = begin;; ++at) {
      const bool last = at == order.size() || (at > begin && owner_is_full(chunks_[order[at]]));
      if (last || (meets && moved > ahead)) {
        std::size_t end = full.value_or(at);
        if (meets && moved > limits_.sent) {
          end = static_cast<std::size_t>(
              accesses_.others->all_reduce(static_cast<std::int64_t>(end), Reduce::min));
        }
        if (last || end < at) return end;
        ahead = 2 * moved;
      }
      if (!full && at > begin && others_are_full(order[at])) full = at;
      if (full && !meets) return at;
      add(order[at]);
      moved += chunks_[order[at]].moved();
      ++visits_;
    }
  }
  std::size_t visits() const { return visits_; }

 private:
  std::span<const ChunkAccess> accesses_of(std::uint32_t chunk) const {
    return accesses_.list.subspan(first_[chunk], first_[chunk + std::size_t{1}] - first_[chunk]);
  }
  static bool exceeds(Count so_far, Count more, Count limit) {
    return so_far > 0 && so_far + more > limit;
  }
  bool owner_is_full(const PlannedChunk& c) const {
    const auto owner = static_cast<std::size_t>(c.owner);
    return exceeds(held_[owner], c.bytes, limits_.owned) ||
           (c.shared && exceeds(shared_[owner], c.bytes, limits_.shared)) ||
           (limits_.owners_send && c.moved() > 0 && exceeds(sent_[owner], c.moved(), limits_.sent));
  }
  bool others_are_full(std::uint32_t chunk) const {
    if (limits_.owners_send) return false;
    const auto its = accesses_of(chunk);
    return std::any_of(its.begin(), its.end(), [&](const ChunkAccess& a) {
      return a.rank != chunks_[chunk].owner &&
             exceeds(sent_[static_cast<std::size_t>(a.rank)], a.bytes, limits_.sent);
    });
  }
  void add(std::uint32_t chunk) {
    const PlannedChunk& c = chunks_[chunk];
    const auto owner = static_cast<std::size_t>(c.owner);
    held_[owner] += c.bytes;
    if (c.shared) shared_[owner] += c.bytes;
    if (limits_.owners_send) {
      sent_[owner] += c.moved();
      return;
    }
    for (const ChunkAccess& a : accesses_of(chunk))
      if (a.rank != c.owner) sent_[static_cast<std::size_t>(a.rank)] += a.bytes;
  }

  std::span<const PlannedChunk> chunks_;
  const KnownAccesses& accesses_;
  const RoundLimits& limits_;
  std::vector<std::size_t> first_;           // first access of each chunk, and the end
  std::vector<Count> held_, shared_, sent_;  // for each rank, in the current round
  std::size_t visits_ = 0;
};

}  // namespace

std::uint32_t plan_rounds(std::span<PlannedChunk> chunks, const KnownAccesses& accesses, int ranks,
                          const RoundLimits& limits, std::size_t* visits) {
  if (chunks.empty()) return 0;
  const auto order = owner_by_owner(chunks, ranks);
  RoundFiller filler(chunks, accesses, ranks, limits);
  std::uint32_t rounds = 0;
  Count moved = 0;
  for (std::size_t at = 0; at < order.size(); ++rounds) {
    const std::size_t end = filler.end_of(order, at, moved);
    for (moved = 0; at < end; ++at) {
      chunks[order[at]].round = rounds;
      moved += chunks[order[at]].moved();
    }
  }
  if (visits != nullptr) *visits = filler.visits();
  return rounds;
}

}  // namespace forebay::chunked
