// Writing of chunks to data files of equal sizes (Fan et al. 2021, §IV-C). Owners find the files of
// their chunks (ChunkPolicy::share_out), and the writer of a file finds the places in it
// (GatheredWrites). So a rank's cost grows with its own chunks and those of its file, and not with
// the number of ranks.
//
// All ranks hold the index. So they learn all sizes after the last round, once all data is written,
// and take the places in every file as its writer has found them. An operation that fails before
// has changed nothing.
#include <algorithm>

#include "comm/agree.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/chunked/chunked.h"

namespace forebay::chunked {

void ChunkedLayout::begin_balanced(const Operation& op,
                                   std::optional<BalancedWrite>& balanced) const {
  if (!files_ || !files_->balanced()) return;
  const auto writers = files_->writers();
  const auto mine = std::find(writers.begin(), writers.end(), comm_.rank());
  BalancedWrite& its = balanced.emplace();
  if (mine != writers.end())
    its.space = store_.copy_of_space(static_cast<std::uint32_t>(mine - writers.begin()) + 1);
  its.told.resize(op.rounds);
  its.found.resize(op.rounds);
}

std::optional<Error> ChunkedLayout::begin_windows(const Operation& op, std::uint32_t round,
                                                  std::span<const std::uint32_t> own,
                                                  std::span<const StoredChunk> stored,
                                                  const std::optional<Error>& mine,
                                                  const Entries& entries, BalancedWrite& balanced) {
  {
    StepTimer timer(report_, Step::wait);
    team().node_barrier();  // sleeps while other ranks encode
    if (auto theirs = worst_of_all(comm_, mine)) return theirs;
  }
  StepTimer timer(report_, Step::exchange);
  return attempt_and_go_on(comm_, [&] { place_round(op, round, own, stored, entries, balanced); });
}

// The order in which parts get places is that of take_places().
void ChunkedLayout::place_round(const Operation& op, std::uint32_t round,
                                std::span<const std::uint32_t> own,
                                std::span<const StoredChunk> stored, const Entries& entries,
                                BalancedWrite& balanced) {
  const auto files = files_of_own(op, own, stored, entries);
  const bool by_level = policy_of_parts()->stores_by_level(site_.method);
  std::vector<OwnPart> parts;
  auto& told = balanced.told[round];
  told.assign(1, {});
  auto next = stored.begin();
  for (std::size_t k = 0; k < own.size(); ++k) {
    const auto count = static_cast<std::uint32_t>(entries.of(own[k]).size());
    for (std::uint32_t part = 0; part < count; ++part, ++next) {
      told.push_back(Told::of(*next, files[k] + 1));
      const OwnPart::Order order{by_level ? part : own[k], by_level ? own[k] : part};
      if (!next->bytes.empty())
        parts.push_back({files[k], order, std::ssize(next->bytes), next->bytes.data()});
    }
  }
  const auto find_place = [&](Count bytes) { return balanced.space.allocate(bytes); };
  balanced.gathered.emplace(comm_, files_->writers(), parts, find_place, options_.buffer_limit / 8);
  const auto places = balanced.gathered->places();
  balanced.found[round].assign(places.begin(), places.end());
}

std::vector<std::uint32_t> ChunkedLayout::files_of_own(const Operation& op,
                                                       std::span<const std::uint32_t> own,
                                                       std::span<const StoredChunk> stored,
                                                       const Entries& entries) {
  std::vector<VarId> vars;
  std::vector<WrittenVariable> written;
  for (auto chunk = op.chunks.begin(); chunk != op.chunks.end();) {
    const VarId var = chunk->var;
    vars.push_back(var);
    written.push_back({&schema_.vars[static_cast<std::size_t>(var)], &coding(var).grid});
    chunk = std::partition_point(chunk, op.chunks.end(),
                                 [&](const PlannedChunk& c) { return c.var == var; });
  }
  std::vector<SizedChunk> sized;
  sized.reserve(own.size());
  auto next = stored.begin();
  for (const std::uint32_t i : own) {
    const auto var = std::lower_bound(vars.begin(), vars.end(), op.chunks[i].var);
    SizedChunk& chunk = sized.emplace_back(
        SizedChunk{static_cast<std::size_t>(var - vars.begin()), op.chunks[i].id, 0});
    const auto end = next + std::ssize(entries.of(i));
    for (; next != end; ++next) chunk.bytes += std::ssize(next->bytes);
  }
  return policy_of_parts()->share_out(comm_, written, sized, std::ssize(files_->writers()));
}

// Collective, after the last round, when all data is written.
void ChunkedLayout::tell_places(const Operation& op,
                                const std::vector<std::vector<std::uint32_t>>& own,
                                const BalancedWrite& balanced, Entries& entries) {
  for (std::uint32_t round = 0; round < op.rounds; ++round) {
    const auto sizes = bytes_told(op, round, entries);
    const auto all = comm_.all_gather_known(std::as_bytes(std::span(balanced.told[round])), sizes);
    take_places(op, round, all, sizes, entries);
    auto found = balanced.found[round].begin();
    for (const std::uint32_t i : own[round])
      for (const Entry& e : entries.of(i))
        if (e.present() && e.offset != *found++)
          throw Error(Errc::einternal, "the writer of a data file found another place in it");
  }
  comm_.meet();  // all learn of one rank's error before any changes or publishes the index
}

}  // namespace forebay::chunked
