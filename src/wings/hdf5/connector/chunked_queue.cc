#include "hdf5/connector/chunked_queue.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "comm/comm.h"

namespace forebay::vol {
namespace {

constexpr Count nothing_selected = std::numeric_limits<Count>::max();
/// Boxes of all ranks are compared if they take at most this many bytes.
constexpr std::int64_t most_compared = 4 << 20;

/// Calls f(offset, length) for the pieces of a run in an array of other extents. `was` has the
/// extents of the dimensions over which the run is flattened, without the first of them, and `step`
/// the elements per index of all of them.
template <typename F>
void in_other_extents(const PatternRun& run, std::span<const Count> was,
                      std::span<const Count> step, F&& f) {
  const Count row = was.back();
  for (Count at = run.offset; at < run.end();) {
    const Count length = std::min(run.end() - at, row - at % row);
    Offset there = 0;
    Count rest = at;
    for (std::size_t d = was.size(); d-- > 0;) {
      there += rest % was[d] * step[d + 1];
      rest /= was[d];
    }
    f(there + rest * step[0], length);
    at += length;
  }
}

/// Returns whether the pattern's runs are flattened over these extents, too.
bool has_its_extents(const Pattern& pattern, const std::vector<Count>& extents) {
  const std::size_t flattened = pattern.outer.size() + 1;
  return flattened >= extents.size() ||
         std::equal(extents.begin() + static_cast<std::ptrdiff_t>(flattened), extents.end(),
                    pattern.inner.begin() + static_cast<std::ptrdiff_t>(flattened) - 1);
}

/// Returns the selection as runs of bytes of the variable.
Runs runs_of(const Placed& placed, const std::vector<Count>& extents, Count width) {
  const Pattern& pattern = placed.pattern;
  const std::size_t n = extents.size(), outer = pattern.outer.size();
  std::vector<Count> step(n, 1);
  for (std::size_t d = n - 1; d-- > 0;) step[d] = step[d + 1] * extents[d + 1];
  auto list = std::make_shared<RunList>();
  const bool as_it_is = has_its_extents(pattern, extents);
  const auto was = std::span(pattern.inner).subspan(std::min(outer, n - 1));
  const auto add = [&](Offset from, Count length) {
    const Run next{from * width, length * width};
    list->bytes += next.length;
    if (!list->runs.empty() && list->runs.back().offset + list->runs.back().length == next.offset)
      list->runs.back().length += next.length;
    else
      list->runs.push_back(next);
  };
  std::vector<Count> at(outer, 0);
  for (;;) {
    Offset first = placed.base * step[0];
    for (std::size_t d = 0; d < outer; ++d)
      first += (pattern.outer[d].start + at[d] * pattern.outer[d].stride) * step[d];
    for (const PatternRun& run : pattern.runs) {
      if (as_it_is)
        add(first + run.offset, run.length);
      else
        in_other_extents(run, was, std::span(step).subspan(outer),
                         [&](Offset there, Count length) { add(first + there, length); });
    }
    std::size_t d = outer;
    for (;;) {
      if (d == 0) return {std::move(list), 0};
      --d;
      if (++at[d] < pattern.outer[d].count) break;
      at[d] = 0;
    }
  }
}

/// Returns the selection as a box; nothing if it is none.
std::optional<Subarray> box_of(const Placed& placed, const std::vector<Count>& extents) {
  const Pattern& pattern = placed.pattern;
  if (pattern.runs.size() != 1 || !has_its_extents(pattern, extents)) return std::nullopt;
  const std::size_t n = extents.size(), outer = pattern.outer.size();
  Subarray box{Counts(n), Counts(n, 1), Counts(n, 1)};
  for (std::size_t d = 0; d < outer; ++d) {
    box.start[d] = pattern.outer[d].start + (d == 0 ? placed.base : 0);
    box.count[d] = pattern.outer[d].count;
    box.stride[d] = pattern.outer[d].stride;
  }
  if (outer == n) return box;
  // One run over the dimensions from `outer` on: whole rows of the first of them.
  Count inside = 1;
  for (std::size_t d = outer + 1; d < n; ++d) {
    inside *= extents[d];
    box.count[d] = extents[d];
  }
  const PatternRun& run = pattern.runs[0];
  if (run.offset % inside != 0 || run.length % inside != 0) return std::nullopt;
  box.start[outer] = run.offset / inside + (outer == 0 ? placed.base : 0);
  box.count[outer] = run.length / inside;
  return box;
}

}  // namespace

bool SelectionBox::meets(const SelectionBox& other) const {
  if (empty() || other.empty()) return false;
  for (std::size_t d = 0; d < low.size(); ++d)
    if (high[d] <= other.low[d] || other.high[d] <= low[d]) return false;
  return true;
}

void SelectionBox::add(const SelectionBox& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  for (std::size_t d = 0; d < low.size(); ++d) {
    low[d] = std::min(low[d], other.low[d]);
    high[d] = std::max(high[d], other.high[d]);
  }
}

Request request_for(const Placed& placed, const std::vector<Count>& extents, int element_size) {
  Request request;
  request.write = true;
  request.elements = placed.pattern.elements();
  request.element_size = element_size;
  if (auto box = box_of(placed, extents))
    request.selection = std::move(*box);
  else
    request.selection = runs_of(placed, extents, element_size);
  return request;
}

void ChunkedQueue::make_room(std::size_t writes) {
  const auto grow = [&](auto& list) {
    if (list.capacity() - list.size() < writes)
      list.reserve(std::max(list.size() + writes, 2 * list.capacity()));
  };
  grow(collective_);
  grow(waiting_);
}

void ChunkedQueue::add(std::shared_ptr<ChunkedDataset> dataset, bool collective, Request request,
                       SelectionBox box, bool keeps) {
  const Count number = 2 * calls_ + (collective ? 0 : -1);
  if (collective) {
    collective_.push_back({dataset, number, std::move(box)});
  } else if (request.elements > 0) {
    const auto same = std::find_if(independent_.begin(), independent_.end(), [&](const Call& c) {
      return c.dataset == dataset && c.number == number;
    });
    if (same != independent_.end())
      same->box.add(box);
    else
      independent_.push_back({dataset, number, box});
  }
  if (request.elements == 0) return;
  held_ += request.elements * request.element_size;
  if (const auto* const runs = std::get_if<Runs>(&request.selection))
    held_ += runs->list->memory_bytes();
  const bool lent = !request.staging && !keeps;
  waiting_.push_back({std::move(dataset), number, std::move(request), lent});
}

/// One call of one dataset, with the bounds of all ranks.
struct ChunkedQueue::Place {
  std::size_t dataset;
  Count number;
  SelectionBox all;
};

ChunkedQueue::Plan ChunkedQueue::plan(const Comm& comm, bool any_independent) const {
  Plan plan;
  std::vector<Place> calls;
  std::map<std::vector<std::byte>, std::size_t> known;
  const auto dataset_of = [&](const std::vector<std::byte>& token,
                              const std::shared_ptr<ChunkedDataset>& dataset) {
    const auto [at, is_new] = known.try_emplace(token, plan.datasets.size());
    if (is_new) plan.datasets.push_back({token, dataset});
    return at->second;
  };
  // The bounds of each collective call, over all ranks.
  std::vector<std::int64_t> bounds;
  for (const Call& call : collective_)
    for (std::size_t d = 0; d < call.dataset->ndims; ++d) {
      bounds.push_back(call.box.empty() ? nothing_selected : call.box.low[d]);
      bounds.push_back(call.box.empty() ? nothing_selected : -call.box.high[d]);
    }
  if (!bounds.empty()) comm.all_reduce(bounds, Reduce::min);
  auto next = bounds.begin();
  for (const Call& call : collective_) {
    Place place{dataset_of(call.dataset->token, call.dataset), call.number, {}};
    for (std::size_t d = 0; d < call.dataset->ndims; ++d, next += 2) {
      if (next[0] == nothing_selected) continue;
      place.all.low.push_back(next[0]);
      place.all.high.push_back(-next[1]);
    }
    calls.push_back(std::move(place));
  }
  if (any_independent) {
    // token, number, dimensions, bounds
    std::vector<std::int64_t> mine;
    for (const Call& call : independent_) {
      const std::size_t words = (call.dataset->token.size() + 7) / 8;
      std::vector<std::int64_t> token(words, 0);
      std::memcpy(token.data(), call.dataset->token.data(), call.dataset->token.size());
      mine.push_back(std::ssize(call.dataset->token));
      mine.insert(mine.end(), token.begin(), token.end());
      mine.push_back(call.number);
      mine.push_back(std::ssize(call.box.low));
      mine.insert(mine.end(), call.box.low.begin(), call.box.low.end());
      mine.insert(mine.end(), call.box.high.begin(), call.box.high.end());
    }
    std::vector<std::int64_t> sizes;
    const auto bytes = comm.all_gather_bytes(std::as_bytes(std::span(mine)), sizes);
    std::vector<std::int64_t> all(bytes.size() / sizeof(std::int64_t));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    std::map<std::pair<std::size_t, Count>, SelectionBox> merged;
    for (std::size_t at = 0; at < all.size();) {
      const auto size = static_cast<std::size_t>(all[at++]);
      std::vector<std::byte> token(size);
      std::memcpy(token.data(), &all[at], size);
      at += (size + 7) / 8;
      const Count number = all[at++];
      const auto n = all[at++];
      const auto* const first = &all[at];
      SelectionBox box{{first, first + n}, {first + n, first + 2 * n}};
      at += static_cast<std::size_t>(2 * n);
      const auto own = std::find_if(independent_.begin(), independent_.end(),
                                    [&](const Call& c) { return c.dataset->token == token; });
      merged[{dataset_of(token, own == independent_.end() ? nullptr : own->dataset), number}].add(
          box);
    }
    for (auto& [key, box] : merged) calls.push_back({key.first, key.second, std::move(box)});
    std::stable_sort(calls.begin(), calls.end(),
                     [](const Place& a, const Place& b) { return a.number < b.number; });
  }
  if (comm.size() == 1) return plan;

  // Where ranks write in boxes of their own, each rank's order is enough.
  const auto groups = [&](const std::vector<bool>& in_order) {
    std::vector<Count> ends;
    struct Since {
      SelectionBox whole;
      std::vector<std::pair<Count, const SelectionBox*>> boxes;
    };
    std::vector<Since> since(plan.datasets.size());
    std::set<std::size_t> late;  // datasets whose calls meet
    const auto note = [&](const Place& call) {
      since[call.dataset].whole.add(call.all);
      since[call.dataset].boxes.emplace_back(call.number, &call.all);
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Place& call = calls[i];
      if (in_order[call.dataset]) continue;
      const Since& its = since[call.dataset];
      const bool meets = its.whole.meets(call.all) &&
                         std::any_of(its.boxes.begin(), its.boxes.end(), [&](const auto& earlier) {
                           return earlier.first != call.number && earlier.second->meets(call.all);
                         });
      if (meets) {
        late.insert(call.dataset);
        ends.push_back(call.number);
        since.assign(plan.datasets.size(), {});
        // The other datasets of the same call are in the new group, too.
        for (std::size_t j = i; j > 0 && calls[j - 1].number == call.number; --j)
          note(calls[j - 1]);
      }
      note(call);
    }
    return std::pair(std::move(ends), std::move(late));
  };
  std::vector<bool> in_order(plan.datasets.size(), false);
  auto [ends, late] = groups(in_order);
  if (ends.empty()) return plan;
  std::vector<std::int64_t> mine;
  for (const std::size_t d : late) {
    SelectionBox box;
    for (const auto* const list : {&collective_, &independent_})
      for (const Call& call : *list)
        if (call.dataset->token == plan.datasets[d].token) box.add(call.box);
    mine.push_back(std::ssize(box.low));
    mine.insert(mine.end(), box.low.begin(), box.low.end());
    mine.insert(mine.end(), box.high.begin(), box.high.end());
  }
  std::vector<std::int64_t> sizes;
  const auto bytes = comm.all_gather_up_to(most_compared, std::as_bytes(std::span(mine)), sizes);
  if (bytes) {
    std::vector<std::int64_t> all(bytes->size() / sizeof(std::int64_t));
    std::memcpy(all.data(), bytes->data(), bytes->size());
    std::map<std::size_t, std::vector<SelectionBox>> of_ranks;
    std::size_t at = 0;
    for (Rank r = 0; r < comm.size(); ++r)
      for (const std::size_t d : late) {
        const auto n = all[at++];
        const auto* const first = all.data() + at;
        of_ranks[d].push_back({{first, first + n}, {first + n, first + 2 * n}});
        at += static_cast<std::size_t>(2 * n);
      }
    for (const std::size_t d : late) {
      const auto& boxes = of_ranks[d];
      bool apart = true;
      for (std::size_t i = 0; i < boxes.size() && apart; ++i)
        for (std::size_t j = 0; j < i && apart; ++j) apart = !boxes[i].meets(boxes[j]);
      in_order[d] = apart;
    }
  }
  plan.ends = groups(in_order).first;
  return plan;
}

bool ChunkedQueue::waits(const std::vector<std::byte>& token) const {
  const auto is_its = [&](const Call& call) { return call.dataset->token == token; };
  return std::any_of(collective_.begin(), collective_.end(), is_its) ||
         std::any_of(independent_.begin(), independent_.end(), is_its);
}

std::vector<std::vector<Request>> ChunkedQueue::requests(
    const Plan& plan, const std::map<std::vector<std::byte>, VarId>& vars) const {
  std::vector<std::vector<Request>> groups(plan.ends.size() + 1);
  for (const Waiting& one : waiting_) {
    const auto group =
        std::upper_bound(plan.ends.begin(), plan.ends.end(), one.call) - plan.ends.begin();
    Request& request =
        groups[static_cast<std::size_t>(group)].emplace_back(one.request.for_layout());
    request.var = vars.at(one.dataset->token);
  }
  return groups;
}

void ChunkedQueue::drop_lent() {
  std::erase_if(waiting_, [](const Waiting& one) { return one.lent; });
}

void ChunkedQueue::clear() {
  waiting_.clear();
  collective_.clear();
  independent_.clear();
  held_ = 0;
}

}  // namespace forebay::vol
