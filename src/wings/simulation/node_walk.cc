#include "simulation/node_walk.h"

#include <bit>
#include <cstdint>

namespace forebay::simulation {

namespace {

// All selected bytes of the variable begin and end at multiples of this power of two.
std::uint64_t unit_of(const Variable& var, Count record_distance) {
  return static_cast<std::uint64_t>(var.begin | size_of(var.type) |
                                    (var.is_record ? record_distance : 0));
}

}  // namespace

NodeWalk::NodeWalk(const Workload& workload, Count operation, Rank begin, Rank end, bool write) {
  const Schema& schema = workload.schema();
  std::uint64_t units = 8;
  for (Rank r = begin; r < end; ++r) {
    std::vector<Request> requests;
    workload.add_requests(operation, r, requests);
    for (const Request& request : requests)
      units |= unit_of(schema.vars[static_cast<std::size_t>(request.var)], schema.recsize);
    auto rank = std::make_unique<RankWalk>(std::move(requests), schema, write);
    bytes_ += rank->stream.summary().bytes;
    if (rank->stream.summary().empty()) continue;
    const Offset first = rank->stream.summary().first;
    turns_.push_back({first, std::move(rank)});
  }
  std::make_heap(turns_.begin(), turns_.end());
  shift_ = std::countr_zero(units);
}

// Most pieces are in the same window as the one before; only the others need a division.
void NodeWalk::take_turn(const WindowGrid& span, TouchedWindows& touched, RunCover& cover) {
  std::pop_heap(turns_.begin(), turns_.end());
  ExtentReader& reader = turns_.back().rank->reader;
  const Offset base = span.begin_of(span.first);
  Offset from = 0, to = 0;  // the current window
  reader.for_each_before(span.end(), [&](const Extent& e) {
    if (e.offset < from || e.end() > to) {
      touched.mark(e.offset, e.end());
      const Count window = (e.end() - 1) / span.size;
      from = span.begin_of(window);
      to = span.end_of(window);
    }
    cover.mark((e.offset - base) >> shift_, (e.end() - base) >> shift_);
  });
  const auto next = reader.next();
  if (!next) return turns_.pop_back();
  turns_.back().next = *next;
  std::push_heap(turns_.begin(), turns_.end());
}

}  // namespace forebay::simulation
