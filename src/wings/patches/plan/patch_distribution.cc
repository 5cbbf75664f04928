#include "patches/plan/patch_distribution.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/error.h"
#include "base/splitmix64.h"

namespace forebay {
namespace {

constexpr Rank nobody = -1;

void require(bool holds, const char* what) {
  if (!holds) throw Error(Errc::einternal, std::string("patch distribution: ") + what);
}

template <typename T>
void sort_by_peer(Notes<T>& notes, std::size_t from) {
  std::stable_sort(
      notes.begin() + static_cast<std::ptrdiff_t>(from), notes.end(),
      [](const PlanMessage<T>& a, const PlanMessage<T>& b) { return a.peer < b.peer; });
}

Count places_of_a_broker(Count all, int ranks) {
  return std::max<Count>(1, all / ranks + (all % ranks != 0));
}

// Splits [first, first + count) where another broker's places begin.
void to_brokers(Count first, Count count, Count each, Notes<DealtPlaces>& out) {
  for (const Count end = first + count; first < end;) {
    const Count broker = first / each;
    const Count to = std::min(end, (broker + 1) * each);
    out.push_back({static_cast<Rank>(broker), {first, to - first}});
    first = to;
  }
}

}  // namespace

Rank home_of_patch(Count patch, int ranks) {
  return static_cast<Rank>(splitmix64(static_cast<std::uint64_t>(patch)) %
                           static_cast<std::uint64_t>(ranks));
}

// ⌊(r+1)M/N⌋ − ⌊rM/N⌋ without products that may overflow.
Count patch_target(Rank rank, int ranks, Count patches) {
  const Count each = patches / ranks, rest = patches % ranks;
  return each + (rank + Count{1}) * rest / ranks - rank * rest / ranks;
}

PatchDistribution::PatchDistribution(Rank rank, int ranks) : rank_(rank), ranks_(ranks) {
  require(rank >= 0 && rank < ranks, "no such rank");
}

void PatchDistribution::tell(std::span<const PatchPart> mine, Notes<PatchPart>& out) const {
  const std::size_t from = out.size();
  for (const PatchPart& part : mine) {
    require(part.patch >= 0 && part.bytes > 0, "a part that cannot be");
    out.push_back({home_of_patch(part.patch, ranks_), part});
  }
  sort_by_peer(out, from);
}

void PatchDistribution::hear(std::span<const PlanMessage<PatchPart>> in) {
  told_.reserve(told_.size() + in.size());
  for (const auto& [from, part] : in) told_.push_back({part.patch, part.bytes, from});
}

Count PatchDistribution::look() {
  std::sort(told_.begin(), told_.end(), [](const Told& a, const Told& b) {
    return std::tie(a.patch, a.rank) < std::tie(b.patch, b.rank);
  });
  holders_.reserve(told_.size());
  const auto by_bytes = [](const Holder& a, const Holder& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.rank < b.rank;
  };
  for (std::size_t i = 0; i < told_.size();) {
    const Count patch = told_[i].patch;
    const std::size_t first = holders_.size();
    for (; i < told_.size() && told_[i].patch == patch; ++i) {
      const Told& t = told_[i];
      if (holders_.size() > first && holders_.back().rank == t.rank)
        holders_.back().bytes += t.bytes;
      else
        holders_.push_back({t.bytes, t.rank});
    }
    std::sort(holders_.begin() + static_cast<std::ptrdiff_t>(first), holders_.end(), by_bytes);
    patches_.push_back({patch, first, 0, nobody});
  }
  std::vector<Told>().swap(told_);
  return std::ssize(patches_);
}

void PatchDistribution::begin(Count patches) {
  require(patches >= std::ssize(patches_), "fewer patches than there are");
  target_ = patch_target(rank_, ranks_, patches);
}

std::span<const PatchDistribution::Holder> PatchDistribution::holders_of(std::size_t at) const {
  const std::size_t end = at + 1 < patches_.size() ? patches_[at + 1].first : holders_.size();
  return std::span(holders_).subspan(patches_[at].first, end - patches_[at].first);
}

bool PatchDistribution::proposes(std::size_t at) const {
  return patches_[at].owner == nobody && patches_[at].next < holders_of(at).size();
}

Count PatchDistribution::proposing() const {
  Count n = 0;
  for (std::size_t at = 0; at < patches_.size(); ++at) n += proposes(at);
  return n;
}

void PatchDistribution::propose(Notes<PatchProposal>& out) const {
  const std::size_t from = out.size();
  for (std::size_t at = 0; at < patches_.size(); ++at) {
    if (!proposes(at)) continue;
    const Holder& to = holders_of(at)[patches_[at].next];
    out.push_back({to.rank, {patches_[at].patch, to.bytes, static_cast<Count>(at)}});
  }
  sort_by_peer(out, from);
}

void PatchDistribution::judge(std::span<const PlanMessage<PatchProposal>> in,
                              Notes<PatchAnswer>& out) {
  std::vector<const PlanMessage<PatchProposal>*> best;
  best.reserve(in.size());
  for (const auto& note : in) best.push_back(&note);
  std::sort(best.begin(), best.end(), [](const auto* a, const auto* b) {
    return a->what.bytes != b->what.bytes ? a->what.bytes > b->what.bytes
                                          : a->what.patch < b->what.patch;
  });
  const Count takes = std::min(room(), std::ssize(best));
  taken_ += takes;
  const std::size_t from = out.size();
  for (Count i = 0; i < std::ssize(best); ++i) {
    const auto& [home, proposal] = *best[static_cast<std::size_t>(i)];
    out.push_back({home, {proposal.at, i < takes, room() == 0}});
  }
  sort_by_peer(out, from);
}

void PatchDistribution::hear(std::span<const PlanMessage<PatchAnswer>> in) {
  const std::size_t known = full_.size();
  for (const auto& [from, answer] : in) {
    require(answer.at >= 0 && answer.at < std::ssize(patches_), "an answer to no proposal");
    AtHome& patch = patches_[static_cast<std::size_t>(answer.at)];
    if (answer.taken != 0) patch.owner = from;
    if (answer.full != 0) full_.push_back(from);
  }
  if (full_.size() == known) return;
  std::sort(full_.begin(), full_.end());
  full_.erase(std::unique(full_.begin(), full_.end()), full_.end());
  for (std::size_t at = 0; at < patches_.size(); ++at) {
    if (patches_[at].owner != nobody) continue;
    const auto holders = holders_of(at);
    std::uint32_t& next = patches_[at].next;
    while (next < holders.size() &&
           std::binary_search(full_.begin(), full_.end(), holders[next].rank))
      ++next;
  }
}

Count PatchDistribution::left() const {
  return std::count_if(patches_.begin(), patches_.end(),
                       [](const AtHome& p) { return p.owner == nobody; });
}

void PatchDistribution::lay_out(Count room_before, Count left_before, Count all_left,
                                Notes<DealtPlaces>& rooms, Notes<DealtPlaces>& patches) {
  const Count each = places_of_a_broker(all_left, ranks_);
  left_before_ = left_before;
  require(room_before + room() <= all_left && left_before + left() <= all_left,
          "more places than there are");
  to_brokers(room_before, room(), each, rooms);
  to_brokers(left_before, left(), each, patches);
}

void PatchDistribution::match(std::span<const PlanMessage<DealtPlaces>> rooms,
                              std::span<const PlanMessage<DealtPlaces>> patches,
                              Notes<DealtRoom>& out) {
  const auto sorted = [](std::span<const PlanMessage<DealtPlaces>> notes) {
    Notes<DealtPlaces> copy(notes.begin(), notes.end());
    std::sort(copy.begin(), copy.end(),
              [](const auto& a, const auto& b) { return a.what.first < b.what.first; });
    return copy;
  };
  const auto by_room = sorted(rooms), by_patches = sorted(patches);
  const std::size_t from = out.size();
  auto room = by_room.begin();
  for (const auto& [home, asked] : by_patches) {
    Count at = asked.first;
    for (const Count end = at + asked.count; at < end;) {
      while (room != by_room.end() && room->what.first + room->what.count <= at) ++room;
      require(room != by_room.end() && room->what.first <= at, "no room at a place");
      const Count to = std::min(end, room->what.first + room->what.count);
      out.push_back({home, {at, to - at, room->peer}});
      at = to;
    }
  }
  sort_by_peer(out, from);
}

void PatchDistribution::hear(std::span<const PlanMessage<DealtRoom>> in) {
  std::vector<DealtRoom> rooms;
  rooms.reserve(in.size());
  for (const auto& note : in) rooms.push_back(note.what);
  std::sort(rooms.begin(), rooms.end(),
            [](const DealtRoom& a, const DealtRoom& b) { return a.first < b.first; });
  Count place = left_before_;
  auto room = rooms.begin();
  for (AtHome& patch : patches_) {
    if (patch.owner != nobody) continue;
    while (room != rooms.end() && room->first + room->count <= place) ++room;
    require(room != rooms.end() && room->first <= place, "a patch was dealt to nobody");
    patch.owner = static_cast<Rank>(room->owner);
    ++place;
  }
}

void PatchDistribution::decide(Notes<PatchVerdict>& out) const {
  const std::size_t from = out.size();
  for (std::size_t at = 0; at < patches_.size(); ++at) {
    const AtHome& patch = patches_[at];
    require(patch.owner != nobody, "a patch without an owner");
    const auto holders = holders_of(at);
    PatchVerdict verdict{patch.patch, 0, patch.owner, static_cast<std::int32_t>(holders.size())};
    bool has_part = false;
    for (const Holder& h : holders) {
      verdict.bytes += h.bytes;
      has_part = has_part || h.rank == patch.owner;
    }
    for (const Holder& h : holders) out.push_back({h.rank, verdict});
    if (!has_part) out.push_back({patch.owner, verdict});
  }
  sort_by_peer(out, from);
}

}  // namespace forebay
