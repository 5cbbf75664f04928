#include "layout/chunked/operation.h"

#include <algorithm>

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
    op.accesses.push_back({static_cast<std::uint32_t>(op.chunks.size() - 1), a.rank, a.bytes});
  }
  std::size_t c = 0, kept = 0;
  for (Touch& t : op.touches) {
    while (c < op.chunks.size() &&
           (op.chunks[c].var < t.var || (op.chunks[c].var == t.var && op.chunks[c].id < t.id)))
      ++c;
    if (c == op.chunks.size() || op.chunks[c].var != t.var || op.chunks[c].id != t.id) continue;
    t.chunk = static_cast<std::uint32_t>(c);
    op.touches[kept++] = t;
  }
  op.touches.resize(kept);
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
