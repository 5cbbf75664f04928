#include "layout/chunked/operation.h"

#include <algorithm>
#include <tuple>

namespace forebay::chunked {

std::span<const ChunkTouch> TouchFinder::find(const ChunkGrid& grid, const Request& request) {
  const auto* runs = std::get_if<Runs>(&request.selection);
  if (runs == nullptr) {
    scratch_ = touched_chunks(grid, request);
    return scratch_;
  }
  for (const auto& k : known_) {
    if (k->list == runs->list.get() && k->base == runs->base && k->shape == grid.shape() &&
        k->lengths == grid.lengths())
      return k->touched;
  }
  known_.push_back(std::make_unique<Known>(Known{runs->list.get(), runs->base, grid.shape(),
                                                 grid.lengths(), touched_chunks(grid, request)}));
  return known_.back()->touched;
}

std::span<const Offset> TouchFinder::positions(const Request& request) {
  const auto* runs = std::get_if<Runs>(&request.selection);
  if (runs == nullptr || !runs->list->memory.empty()) return {};
  const auto [found, is_new] = positions_.try_emplace(runs->list.get());
  if (is_new) found->second = run_positions(*runs->list);
  return found->second;
}

std::vector<Access> own_accesses(std::span<const Touch> touches) {
  std::vector<Access> accesses;
  for (const Touch& t : touches) {
    if (!accesses.empty() && accesses.back().var == t.var && accesses.back().id == t.id) {
      accesses.back().bytes += t.bytes;
    } else {
      accesses.push_back({t.var, 0, t.id, t.bytes, 0});
    }
  }
  return accesses;
}

void adopt_accesses(Operation& op, std::span<const Access> all) {
  op.chunks.clear();
  op.accesses.clear();
  for (const Access& a : all) {
    if (op.chunks.empty() || op.chunks.back().var != a.var || op.chunks.back().id != a.id)
      op.chunks.push_back({a.var, a.id});
    op.chunks.back().flags |= a.flags;
    op.chunks.back().touched += a.bytes;
    op.accesses.push_back({static_cast<std::uint32_t>(op.chunks.size() - 1), a.rank, a.bytes});
  }
}

void choose_owners(Operation& op, const CostOf& cost, int ranks) {
  std::vector<ChunkWork> works;
  works.reserve(op.chunks.size());
  for (PlannedChunk& c : op.chunks) {
    works.push_back(cost(c.var, c.id));
    c.bytes = works.back().bytes;
  }
  take_owners(op, assign_owners(works, op.accesses, ranks));
}

void take_owners(Operation& op, std::span<const Rank> owners) {
  // A chunk that only its owner touches needs no shared buffer.
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] < 0) continue;
    op.chunks[i].owner = owners[i];
    op.chunks[i].local = 0;
    op.chunks[i].shared = false;
  }
  for (const ChunkAccess& a : op.accesses) {
    PlannedChunk& c = op.chunks[a.chunk];
    if (owners[a.chunk] < 0) continue;
    if (a.rank == c.owner)
      c.local = a.bytes;
    else
      c.shared = true;
  }
}

namespace {

/// Finds chunks in increasing order.
class ChunkFinder {
 public:
  explicit ChunkFinder(std::span<const PlannedChunk> chunks) : chunks_(chunks) {}
  template <typename T>
  std::uint32_t find(const T& wanted) {
    while (at_ < chunks_.size() &&
           std::tie(chunks_[at_].var, chunks_[at_].id) < std::tie(wanted.var, wanted.id))
      ++at_;
    return static_cast<std::uint32_t>(at_);
  }

 private:
  std::span<const PlannedChunk> chunks_;
  std::size_t at_ = 0;
};

}  // namespace

void adopt_chunks(Operation& op, std::vector<PlannedChunk> chunks, std::span<const Access> mine,
                  Rank rank) {
  op.chunks = std::move(chunks);
  op.knows_all_accesses = false;
  op.accesses.clear();
  op.accesses.reserve(mine.size());
  ChunkFinder finder(op.chunks);
  for (const Access& a : mine) op.accesses.push_back({finder.find(a), rank, a.bytes});
}

void find_chunks_of_touches(Operation& op) {
  ChunkFinder finder(op.chunks);
  for (Touch& t : op.touches) t.chunk = finder.find(t);
}

void Operation::sort_by_round() {
  of_round.assign(rounds, {});
  meets.assign(rounds, false);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    of_round[chunks[i].round].push_back(static_cast<std::uint32_t>(i));
    if (chunks[i].shared) meets[chunks[i].round] = true;
  }
  met.assign(rounds, 0);
  for (std::uint32_t r = 1; r < rounds; ++r) met[r] = met[r - 1] + (meets[r - 1] ? 1 : 0);
  if (rounds < 2) return;
  std::stable_sort(touches.begin(), touches.end(), [&](const Touch& a, const Touch& b) {
    return chunks[a.chunk].round < chunks[b.chunk].round;
  });
}

std::span<const Touch> Operation::touches_of(std::uint32_t chunk) const {
  const auto in_round = touches_of_round(chunks[chunk].round);
  Touch wanted;
  wanted.chunk = chunk;
  const auto [first, last] =
      std::equal_range(in_round.begin(), in_round.end(), wanted,
                       [](const Touch& a, const Touch& b) { return a.chunk < b.chunk; });
  return {first, last};
}

std::span<const Touch> Operation::touches_of_round(std::uint32_t round) const {
  const auto round_of = [&](const Touch& t) { return chunks[t.chunk].round; };
  const auto first = std::partition_point(touches.begin(), touches.end(),
                                          [&](const Touch& t) { return round_of(t) < round; });
  const auto last = std::partition_point(first, touches.end(),
                                         [&](const Touch& t) { return round_of(t) == round; });
  return {first, last};
}

}  // namespace forebay::chunked
