#include "patches/deal_patches.h"

#include <vector>

#include "comm/message_bytes.h"
#include "patches/plan/patch_owners.h"
#include "patches/planning.h"

namespace forebay::patches {
namespace {

using chunked::Access, chunked::Operation, chunked::PlannedChunk;
using IsPatch = std::function<bool(const PlannedChunk&)>;

void deal_alone(int ranks, Operation& op, const IsPatch& is_patch) {
  std::vector<std::vector<PatchPart>> of(static_cast<std::size_t>(ranks));
  for (const ChunkAccess& a : op.accesses)
    if (is_patch(op.chunks[a.chunk]))
      of[static_cast<std::size_t>(a.rank)].push_back({static_cast<Count>(a.chunk), a.bytes});
  const auto parts_of = [&](Rank r, auto& parts) { parts = of[static_cast<std::size_t>(r)]; };
  take_owners(op, distribute(ranks, std::ssize(op.chunks), parts_of).owners);
}

void deal_together(const Comm& comm, Operation& op, std::span<const Access> mine,
                   const IsPatch& is_patch) {
  struct Owned {
    std::int64_t chunk, local, shared;
  };
  std::vector<PatchPart> parts;
  std::size_t at = 0;
  for (const Access& a : mine) {
    while (op.chunks[at].var != a.var || op.chunks[at].id != a.id) ++at;
    if (is_patch(op.chunks[at])) parts.push_back({static_cast<Count>(at), a.bytes});
  }
  std::vector<Owned> owned;
  auto part = parts.begin();
  for (const PatchVerdict& v : distribute_patches(comm, parts)) {
    while (part != parts.end() && part->patch < v.patch) ++part;
    if (v.owner != comm.rank()) continue;
    const bool has_part = part != parts.end() && part->patch == v.patch;
    owned.push_back({v.patch, has_part ? part->bytes : 0, has_part && v.parts == 1 ? 0 : 1});
  }
  std::vector<std::int64_t> sizes;
  const auto all = comm.all_gather_bytes(std::as_bytes(std::span(owned)), sizes);
  std::span<const std::byte> rest(all);
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    for (std::int64_t left = sizes[rank]; left > 0; left -= std::int64_t{sizeof(Owned)}) {
      const auto told = take<Owned>(rest);
      PlannedChunk& c = op.chunks[static_cast<std::size_t>(told.chunk)];
      c.owner = static_cast<Rank>(rank);
      c.local = told.local;
      c.shared = told.shared != 0;
    }
  }
}

}  // namespace

void deal_patches(const Comm& comm, Operation& op, std::span<const Access> mine,
                  const IsPatch& is_patch, std::size_t alone) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  if (op.knows_all_accesses && op.accesses.size() + ranks <= alone)
    deal_alone(comm.size(), op, is_patch);
  else
    deal_together(comm, op, mine, is_patch);
}

}  // namespace forebay::patches
