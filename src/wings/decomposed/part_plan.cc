#include "decomposed/part_plan.h"

#include <algorithm>

namespace forebay::decomposed {
namespace {

/// Cuts one slab into parts and appends them to the plan.
class Cutter {
 public:
  Cutter(PartPlan& plan, std::size_t slab, Count width, const PartLimits& limits)
      : plan_(plan),
        slab_(slab),
        width_(width),
        most_(std::max<Count>(std::min(limits.most, most_part_bytes) / width, 1)),
        least_(std::clamp<Count>(limits.least / width, 1, most_)) {}

  void add(const SlabToEncode::Blob& blob) {
    if (blob.elements == 0) return;
    if (open_ >= least_ || open_ > most_ - std::min(most_, blob.elements)) close();
    if (blob.elements <= most_) return put(blob.rank, 0, blob.elements);
    // Cuts it into pieces of nearly equal size.
    const Count pieces = 1 + (blob.elements - 1) / least_;
    const Count each = 1 + (blob.elements - 1) / pieces;
    for (Count at = 0; at < blob.elements; at += each) {
      put(blob.rank, at, std::min(each, blob.elements - at));
      close();
    }
  }
  void close() {
    if (open_ == 0) return;
    PlannedPart& part = plan_.parts.emplace_back();
    part.slab = slab_;
    part.elements = open_;
    part.bytes = open_ * width_;
    part.first_share = plan_.shares.size() - shares_;
    part.shares = shares_;
    open_ = 0;
    shares_ = 0;
  }

 private:
  void put(Rank rank, Count first, Count elements) {
    plan_.shares.push_back({rank, first, elements});
    open_ += elements;
    ++shares_;
  }

  PartPlan& plan_;
  std::size_t slab_;
  Count width_, most_, least_;
  Count open_ = 0;
  std::size_t shares_ = 0;
};

/// Gives parts their rounds. Returns the number of rounds.
std::uint32_t deal_rounds(PartPlan& plan, int ranks, const PartLimits& limits) {
  std::vector<Count> sent(static_cast<std::size_t>(ranks), 0);
  const Count encoded = limits.round_bytes / 2;  // for each rank; it may exceed this by one part
  Count total = 0;
  std::uint32_t round = 0;
  for (std::size_t i = 0, begin = 0; i < plan.parts.size(); ++i) {
    PlannedPart& part = plan.parts[i];
    const Count width = part.bytes / part.elements;
    const auto shares = plan.of(part);
    const bool fits =
        total + part.bytes <= encoded * ranks &&
        std::all_of(shares.begin(), shares.end(), [&](const Share& s) {
          return sent[static_cast<std::size_t>(s.rank)] + s.elements * width <= limits.round_bytes;
        });
    if (!fits && i > begin) {
      std::fill(sent.begin(), sent.end(), 0);
      total = 0;
      begin = i;
      ++round;
    }
    for (const Share& s : shares) sent[static_cast<std::size_t>(s.rank)] += s.elements * width;
    total += part.bytes;
    part.round = round;
  }
  return plan.parts.empty() ? 0 : round + 1;
}

void deal_work(PartPlan& plan, std::span<PlannedPart> parts, int ranks) {
  std::vector<Count> load(static_cast<std::size_t>(ranks), 0);
  Count total = 0;
  for (const PlannedPart& part : parts) total += part.bytes;
  const Count fair = (total + ranks - 1) / ranks;
  std::size_t next = 0;
  for (PlannedPart& part : parts) {
    const auto shares = plan.of(part);
    const auto largest =
        std::max_element(shares.begin(), shares.end(),
                         [](const Share& a, const Share& b) { return a.elements < b.elements; });
    auto to = static_cast<std::size_t>(largest->rank);
    const auto is_full = [&](std::size_t r) { return load[r] + part.bytes / 2 > fair; };
    if (is_full(to)) {
      while (next + 1 < load.size() && is_full(next)) ++next;
      if (!is_full(next)) to = next;
    }
    if (is_full(to))
      to = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    load[to] += part.bytes;
    part.encoder = static_cast<Rank>(to);
  }
}

}  // namespace

std::span<const PlannedPart> PartPlan::round(std::uint32_t number) const {
  const auto [first, last] = std::equal_range(
      parts.begin(), parts.end(), PlannedPart{0, 0, 0, 0, number, 0, 0},
      [](const PlannedPart& a, const PlannedPart& b) { return a.round < b.round; });
  return {first, last};
}

PartPlan plan_parts(std::span<const SlabToEncode> slabs, int ranks, const PartLimits& limits) {
  PartPlan plan;
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    Cutter cutter(plan, i, slabs[i].width, limits);
    for (const SlabToEncode::Blob& blob : slabs[i].blobs) cutter.add(blob);
    cutter.close();
  }
  plan.rounds = deal_rounds(plan, ranks, limits);
  for (std::size_t i = 0, end = 0; i < plan.parts.size(); i = end) {
    while (end < plan.parts.size() && plan.parts[end].round == plan.parts[i].round) ++end;
    deal_work(plan, std::span(plan.parts).subspan(i, end - i), ranks);
  }
  return plan;
}

}  // namespace forebay::decomposed
