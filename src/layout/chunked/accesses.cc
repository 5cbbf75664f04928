#include "layout/chunked/accesses.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/exchange.h"

namespace forebay::chunked {
namespace {

bool before(const Access& a, const Access& b) {
  return std::tie(a.var, a.id, a.rank) < std::tie(b.var, b.id, b.rank);
}

std::span<const std::byte> bytes_of(std::span<const Access> list) { return std::as_bytes(list); }

void append(std::vector<Access>& list, std::span<const std::byte> bytes) {
  const std::size_t n = bytes.size() / sizeof(Access), old = list.size();
  list.resize(old + n);
  if (n > 0) std::memcpy(list.data() + old, bytes.data(), n * sizeof(Access));
}

// The largest accesses of each chunk; `list` is sorted.
void keep_largest(std::vector<Access>& list, std::size_t candidates) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < list.size();) {
    std::size_t end = i;
    std::int64_t flags = 0;
    while (end < list.size() && list[end].var == list[i].var && list[end].id == list[i].id)
      flags |= list[end++].flags;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = list.begin() + static_cast<std::ptrdiff_t>(end);
    if (end - i > candidates) {
      std::nth_element(first, first + static_cast<std::ptrdiff_t>(candidates), last,
                       [](const Access& a, const Access& b) {
                         return a.bytes != b.bytes ? a.bytes > b.bytes : a.rank < b.rank;
                       });
    }
    const std::size_t kept = std::min(candidates, end - i);
    std::sort(first, first + static_cast<std::ptrdiff_t>(kept), before);
    list[i].flags |= flags;
    std::copy_n(first, kept, list.begin() + static_cast<std::ptrdiff_t>(out));
    out += kept;
    i = end;
  }
  list.resize(out);
}

// Each chunk's accesses meet at one rank, chosen by chunk, which passes on the largest.
std::vector<Access> reduced(const Comm& comm, std::span<const Access> mine,
                            std::size_t candidates) {
  std::vector<Message> messages;
  agree_on_error(comm, attempt_to([&] {
                   const auto size = static_cast<std::uint64_t>(comm.size());
                   std::vector<std::vector<Access>> to(static_cast<std::size_t>(size));
                   for (const Access& a : mine) {
                     const std::uint64_t mixed = (static_cast<std::uint64_t>(a.id) +
                                                  0x9e37u * static_cast<std::uint64_t>(a.var)) %
                                                 size;
                     to[static_cast<std::size_t>(mixed)].push_back(a);
                   }
                   for (std::size_t r = 0; r < to.size(); ++r) {
                     if (to[r].empty()) continue;
                     const auto bytes = bytes_of(to[r]);
                     messages.push_back({static_cast<Rank>(r), {bytes.begin(), bytes.end()}});
                   }
                 }));
  std::vector<Access> here;
  sparse_exchange(comm, messages,
                  [&](Rank, std::span<const std::byte> bytes) { append(here, bytes); });
  std::sort(here.begin(), here.end(), before);
  keep_largest(here, candidates);
  return here;
}

}  // namespace

std::vector<Access> gather_accesses(const Comm& comm, std::vector<Access> mine, Count most,
                                    std::size_t candidates) {
  for (Access& a : mine) a.rank = comm.rank();
  if (comm.size() == 1) return mine;
  std::vector<std::int64_t> sizes;
  auto gathered =
      comm.all_gather_up_to(most * static_cast<Count>(sizeof(Access)), bytes_of(mine), sizes);
  if (!gathered) {
    mine = reduced(comm, mine, candidates);
    for (Access& a : mine) a.flags |= list_is_cut;
    gathered = comm.all_gather_bytes(bytes_of(mine), sizes);
  }
  std::vector<Access> all;
  append(all, *gathered);
  std::sort(all.begin(), all.end(), before);
  return all;
}

std::uint32_t plan_rounds(std::span<PlannedChunk> chunks, std::span<const ChunkAccess> accesses,
                          int ranks, const RoundLimits& limits) {
  if (chunks.empty()) return 0;
  // The j-th chunk of every owner, then the next of every owner, and so on.
  std::vector<std::uint32_t> layer(chunks.size()), order(chunks.size());
  std::vector<std::uint32_t> owned(static_cast<std::size_t>(ranks), 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    layer[i] = owned[static_cast<std::size_t>(chunks[i].owner)]++;
    order[i] = static_cast<std::uint32_t>(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return layer[a] < layer[b]; });
  std::vector<std::size_t> first(chunks.size() + 1, accesses.size());
  for (std::size_t i = accesses.size(); i-- > 0;) first[accesses[i].chunk] = i;
  for (std::size_t i = chunks.size(); i-- > 0;) {
    // A chunk without accesses has an empty range.
    if (first[i] == accesses.size() || accesses[first[i]].chunk != i) first[i] = first[i + 1];
  }
  std::vector<Count> held(static_cast<std::size_t>(ranks), 0), shared(held), sent(held);
  std::uint32_t round = 0;
  bool empty = true;
  for (const std::uint32_t i : order) {
    PlannedChunk& c = chunks[i];
    const std::span<const ChunkAccess> its = accesses.subspan(first[i], first[i + 1] - first[i]);
    Count& mine = held[static_cast<std::size_t>(c.owner)];
    Count& in_node = shared[static_cast<std::size_t>(c.owner)];
    bool full = (mine > 0 && mine + c.bytes > limits.owned) ||
                (c.shared && in_node > 0 && in_node + c.bytes > limits.shared);
    const auto sender = [&](const ChunkAccess& a) -> Count& {
      return sent[static_cast<std::size_t>(limits.owners_send ? c.owner : a.rank)];
    };
    Count all = 0;
    for (const ChunkAccess& a : its) {
      if (a.rank == c.owner) continue;
      all = limits.owners_send ? all + a.bytes : a.bytes;
      full = full || (sender(a) > 0 && sender(a) + all > limits.sent);
    }
    if (full && !empty) {
      ++round;
      std::fill(held.begin(), held.end(), 0);
      std::fill(shared.begin(), shared.end(), 0);
      std::fill(sent.begin(), sent.end(), 0);
    }
    empty = false;
    c.round = round;
    mine += c.bytes;
    if (c.shared) in_node += c.bytes;
    for (const ChunkAccess& a : its) {
      if (a.rank != c.owner) sender(a) += a.bytes;
    }
  }
  return round + 1;
}

}  // namespace forebay::chunked
