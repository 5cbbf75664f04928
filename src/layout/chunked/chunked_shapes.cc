// The shape of chunks from the first flush's access pattern (plan/chunk_shape.h).
#include <algorithm>

#include "layout/chunked/chunked.h"
#include "plan/chunk_shape.h"

namespace forebay::chunked {

namespace {

struct Pattern {
  std::vector<const Subarray*> blocks;
  bool scattered = false;
};

}  // namespace

bool ChunkedLayout::is_open(VarId var) const {
  const auto& chunking = schema_.vars[static_cast<std::size_t>(var)].chunking;
  return chunking && chunking->shape.empty();
}

void ChunkedLayout::settle_shapes(std::span<Request> requests) {
  // Which variables are open is known to all; which of them are written now is not. Those between
  // the first and the last of them are looked at: one, where variables are written one at a time.
  if (open_ == 0) return;
  std::array<std::int64_t, 2> range{std::ssize(schema_.vars), 0};  // first, negative last
  for (const Request& r : requests) {
    if (r.elements == 0 || !is_open(r.var)) continue;
    range[0] = std::min<std::int64_t>(range[0], r.var);
    range[1] = std::min<std::int64_t>(range[1], -r.var);
  }
  comm_.all_reduce(range, Reduce::min);
  std::vector<VarId> open;
  for (std::int64_t v = range[0]; v <= -range[1] && v < std::ssize(schema_.vars); ++v)
    if (is_open(static_cast<VarId>(v))) open.push_back(static_cast<VarId>(v));
  if (open.empty()) return;
  std::map<VarId, Pattern> patterns;
  for (const Request& r : requests) {
    if (r.elements == 0 || !is_open(r.var)) continue;
    Pattern& p = patterns[r.var];
    if (const auto* sub = std::get_if<Subarray>(&r.selection)) {
      p.blocks.push_back(sub);
    } else {
      p.scattered = true;
    }
  }
  std::vector<AccessFacts> facts;
  std::vector<std::int64_t> values;
  for (const VarId v : open) {
    const Variable& var = schema_.vars[static_cast<std::size_t>(v)];
    const auto found = patterns.find(v);
    facts.push_back(found == patterns.end()
                        ? AccessFacts(var.ndims())
                        : describe_access(var, found->second.blocks, found->second.scattered));
    const auto its = facts.back().values();
    values.insert(values.end(), its.begin(), its.end());
  }
  comm_.all_reduce(values, Reduce::min);
  std::span<const std::int64_t> left(values);
  std::vector<std::int64_t> holds(open.size(), 1);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto its = facts[i].values();
    std::copy_n(left.begin(), its.size(), its.begin());
    left = left.subspan(its.size());
    const Variable& var = schema_.vars[static_cast<std::size_t>(open[i])];
    const auto lattice = candidate_lattice(var, facts[i]);
    const auto found = patterns.find(open[i]);
    if (lattice.empty()) {
      holds[i] = 0;
    } else if (found != patterns.end()) {
      holds[i] = aligned(var, lattice, found->second.blocks);
    }
  }
  comm_.all_reduce(holds, Reduce::min);
  store_.change([&]() -> std::optional<Error> {
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!facts[i].any()) continue;
      Variable& var = schema_.vars[static_cast<std::size_t>(open[i])];
      ShapeChoice choice = choose_chunk_shape(var, facts[i], holds[i] != 0, options_.chunk_bytes);
      ChunkTable& table = store_.table(open[i]);
      table.shape = var.chunking->shape = std::move(choice.shape);
      table.reason = var.chunking->reason = std::move(choice.reason);
      store_.shape_chosen(open[i]);
      --open_;
      codings_[static_cast<std::size_t>(open[i])].reset();
    }
    return std::nullopt;
  });
}

}  // namespace forebay::chunked
