#include "layout/chunked/homes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "base/attempt.h"
#include "base/splitmix64.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "plan/chunk_offers.h"

namespace forebay::chunked {
namespace {

/// The unit of work, so that work of less than a byte of deflate counts.
constexpr double work_units = 256;
/// Upper limit for the work of one home's chunks, so that sums over all ranks do not overflow (all
/// homes together: 16 PiB of deflate). Work beyond it is not balanced.
Count most_work(int ranks) { return std::numeric_limits<Count>::max() / 2 / ranks; }

struct Offer {
  ChunkOffer what;
  Count id = 0;
  std::int64_t var = 0;
};

/// An offer at the rank that receives it.
struct Offered {
  Offer offer;
  Rank from = 0;
  std::uint32_t at = 0;  // index among the offers from `from`
  bool taken = false;
};

/// A chunk at its home.
struct AtHome {
  std::size_t first = 0, last = 0;  // indices of its accesses
  Offer offer;
  Rank owner = 0;  // or the rank that it is offered to
  bool taken = false;
};

/// What a home sends to all ranks about a chunk.
struct ToldHomes {
  std::int32_t var = 0;
  Rank owner = 0;
  Count id = 0, touched = 0, local = 0;
  std::int64_t flags = 0;
  std::int64_t shared = 0;
};

class Homes {
 public:
  Homes(const Comm& comm, const CostOf& cost) : comm_(comm), cost_(cost) {}

  // Each step is collective, or local between two that are. No exchange begins before a reduction
  // has shown that no rank has failed (comm/agree.h).

  void collect(std::span<const Access> mine);
  void look();
  void offer();
  void give_away_the_rest();
  std::vector<ToldHomes> decisions() const;

 private:
  std::span<const Access> accesses_of(const AtHome& c) const {
    return std::span(accesses_).subspan(c.first, c.last - c.first);
  }
  Rank best_of(const AtHome& c) const;
  void judge(std::vector<Offered>& offered);
  void hear(Rank from, std::span<const std::byte> answers);

  const Comm& comm_;
  const CostOf& cost_;
  std::vector<Access> accesses_;  // to this home's chunks, by chunk and rank
  std::vector<AtHome> chunks_;
  std::vector<std::uint32_t> by_rank_;  // indices of chunks_, by the rank that they are offered to
  WorkTotals totals_;
  Count load_ = 0;  // of the accepted chunks
};

void Homes::collect(std::span<const Access> mine) {
  const int ranks = comm_.size();
  std::vector<Message> messages;
  {
    std::vector<Access> sorted(mine.begin(), mine.end());
    for (Access& a : sorted) a.rank = comm_.rank();
    const auto home = [&](const Access& a) { return home_of(a.var, a.id, ranks); };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const Access& a, const Access& b) { return home(a) < home(b); });
    messages =
        messages_of(std::span<const Access>(sorted), home, [](const Access& a) { return a; });
  }
  comm_.meet();
  sparse_exchange(comm_, messages, [&](Rank, std::span<const std::byte> bytes) {
    const auto told = all_of<Access>(bytes);
    accesses_.insert(accesses_.end(), told.begin(), told.end());
  });
}

// If several ranks touch equally much, the choice varies by chunk, since this may hold for many
// chunks.
Rank Homes::best_of(const AtHome& c) const {
  Count most = -1, ties = 0;
  for (const Access& a : accesses_of(c)) {
    if (a.bytes > most) ties = 0;
    if (a.bytes >= most) ++ties;
    most = std::max(most, a.bytes);
  }
  Count skip = c.offer.id % ties;
  for (const Access& a : accesses_of(c))
    if (a.bytes == most && skip-- == 0) return a.rank;
  return accesses_[c.first].rank;
}

void Homes::look() {
  std::sort(accesses_.begin(), accesses_.end(), comes_before);
  for (std::size_t i = 0; i < accesses_.size();) {
    const Access& a = accesses_[i];
    AtHome c;
    c.first = i;
    while (i < accesses_.size() && accesses_[i].var == a.var && accesses_[i].id == a.id) ++i;
    c.last = i;
    const ChunkWork cost = cost_(a.var, a.id);
    const Count work = std::min<Count>(std::llround(cost.work * work_units),
                                       most_work(comm_.size()) - totals_.work);
    c.offer = {{work, 0}, a.id, a.var};
    c.owner = best_of(c);
    for (const Access& each : accesses_of(c))
      if (each.rank == c.owner) c.offer.what.access = each.bytes;
    totals_.work += c.offer.what.work;
    totals_.bytes += cost.bytes;
    totals_.largest = std::max(totals_.largest, c.offer.what.work);
    by_rank_.push_back(static_cast<std::uint32_t>(chunks_.size()));
    chunks_.push_back(c);
  }
  std::stable_sort(by_rank_.begin(), by_rank_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return chunks_[a].owner < chunks_[b].owner;
  });
}

// Does not depend on the order in which offers arrive.
void Homes::judge(std::vector<Offered>& offered) {
  std::sort(offered.begin(), offered.end(), [](const Offered& x, const Offered& y) {
    const Offer &a = x.offer, &b = y.offer;
    if (a.what.work != b.what.work) return a.what.work > b.what.work;
    return std::tie(a.var, a.id) < std::tie(b.var, b.id);
  });
  std::vector<ChunkOffer> offers;
  offers.reserve(offered.size());
  for (const Offered& o : offered) offers.push_back(o.offer.what);
  const auto taken = take_offers(offers, totals_, load_);
  for (std::size_t i = 0; i < offered.size(); ++i) offered[i].taken = taken[i];
  std::sort(offered.begin(), offered.end(), [](const Offered& a, const Offered& b) {
    return std::tie(a.from, a.at) < std::tie(b.from, b.at);
  });
}

// Answers are one byte for each chunk, in the order of the offers.
void Homes::hear(Rank from, std::span<const std::byte> answers) {
  auto at = std::partition_point(by_rank_.begin(), by_rank_.end(),
                                 [&](std::uint32_t c) { return chunks_[c].owner < from; });
  for (const std::byte answer : answers) chunks_[*at++].taken = answer != std::byte{0};
}

void Homes::offer() {
  const auto messages = messages_of(
      std::span<const std::uint32_t>(by_rank_), [&](std::uint32_t c) { return chunks_[c].owner; },
      [&](std::uint32_t c) { return chunks_[c].offer; });
  std::array<std::int64_t, 3> totals{totals_.largest, totals_.work, totals_.bytes};
  comm_.max_and_sum(totals, 1);
  totals_ = {totals[1], totals[0], totals[2], comm_.size()};

  std::vector<Offered> offered;
  sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
    const auto offers = all_of<Offer>(bytes);
    for (std::uint32_t i = 0; i < offers.size(); ++i) offered.push_back({offers[i], from, i});
  });
  judge(offered);
  const auto answers = messages_of(
      std::span<const Offered>(offered), [](const Offered& o) { return o.from; },
      [](const Offered& o) { return std::byte{o.taken}; });
  comm_.meet();
  sparse_exchange(comm_, answers,
                  [&](Rank from, std::span<const std::byte> bytes) { hear(from, bytes); });
}

void Homes::give_away_the_rest() {
  Count left = 0;
  for (const AtHome& c : chunks_)
    if (!c.taken) left += c.offer.what.work;
  const Room room(comm_.all_gather(load_), totals_);
  const auto all = comm_.all_gather(left);
  Count place = 0;  // where this home's unassigned chunks begin among all
  for (Rank r = 0; r < comm_.rank(); ++r) place += all[static_cast<std::size_t>(r)];
  for (AtHome& c : chunks_) {
    if (c.taken) continue;
    c.owner = room.owner_at(place);
    place += c.offer.what.work;
  }
}

std::vector<ToldHomes> Homes::decisions() const {
  std::vector<ToldHomes> told;
  told.reserve(chunks_.size());
  for (const AtHome& c : chunks_) {
    ToldHomes t{static_cast<std::int32_t>(c.offer.var), c.owner, c.offer.id, 0, 0, 0, 0};
    for (const Access& a : accesses_of(c)) {
      t.touched += a.bytes;
      t.flags |= a.flags;
      if (a.rank == c.owner)
        t.local = a.bytes;
      else
        t.shared = 1;
    }
    told.push_back(t);
  }
  return told;
}

}  // namespace

// The hash mixes bits first: with the modulus alone, ids whose stride has a common factor with
// `ranks` would have few homes.
Rank home_of(std::int32_t var, Count id, int ranks) {
  const auto x =
      static_cast<std::uint64_t>(id) ^ (static_cast<std::uint64_t>(var) * 0x9e3779b97f4a7c15);
  return static_cast<Rank>(splitmix64(x) % static_cast<std::uint64_t>(ranks));
}

std::vector<PlannedChunk> plan_at_homes(const Comm& comm, std::span<const Access> mine,
                                        const CostOf& cost) {
  std::vector<ToldHomes> told;
  {
    Homes homes(comm, cost);
    homes.collect(mine);
    homes.look();
    homes.offer();
    homes.give_away_the_rest();
    told = homes.decisions();
  }
  std::vector<std::int64_t> sizes;
  auto all = comm.all_gather_bytes(std::as_bytes(std::span<const ToldHomes>(told)), sizes);
  std::vector<PlannedChunk> chunks;
  chunks.reserve(all.size() / sizeof(ToldHomes));
  for (std::span<const std::byte> rest = all; !rest.empty();) {
    const auto t = take<ToldHomes>(rest);
    PlannedChunk& c = chunks.emplace_back(PlannedChunk{t.var, t.id});
    c.bytes = cost(t.var, t.id).bytes;
    c.touched = t.touched;
    c.local = t.local;
    c.flags = t.flags;
    c.owner = t.owner;
    c.shared = t.shared != 0;
  }
  std::sort(chunks.begin(), chunks.end(), [](const PlannedChunk& a, const PlannedChunk& b) {
    return std::tie(a.var, a.id) < std::tie(b.var, b.id);
  });
  return chunks;
}

}  // namespace forebay::chunked
