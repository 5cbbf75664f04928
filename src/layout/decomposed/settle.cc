#include "layout/decomposed/settle.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/message_bytes.h"

namespace forebay::decomposed {
namespace {

/// What the ranks told in a round: of each the next items, and whether more follow.
struct Told {
  std::vector<std::vector<Item>> of;  // by rank
  std::vector<bool> more;
  Count most_beside = 0;
};

struct Slab {
  Item first;  // its place
  Offset offset = 0;
  Count bytes = 0;
  std::size_t members = 0;           // where they begin
  std::optional<std::size_t> fresh;  // where it stands among those to be encoded
};

// A first item says in `var` whether more follow, and in `elements` what is beside them.
Told tell(const Comm& group, std::span<const Item> next, bool more, Count beside) {
  std::vector<Item> mine(1);
  mine[0].var = more;
  mine[0].elements = beside;
  mine.insert(mine.end(), next.begin(), next.end());
  std::vector<std::int64_t> sizes;
  const auto bytes = group.all_gather_bytes(std::as_bytes(std::span(mine)), sizes);
  Told told;
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    auto its = all_of<Item>(std::span(bytes).subspan(at, static_cast<std::size_t>(size)));
    at += static_cast<std::size_t>(size);
    told.more.push_back(its.front().var != 0);
    told.most_beside = std::max(told.most_beside, its.front().elements);
    its.erase(its.begin());
    told.of.push_back(std::move(its));
  }
  return told;
}

}  // namespace

// Places up to the last one that a rank with more told of are settled: nobody can still come with
// one before it. That is all of what that rank told, so each round settles something.
Settled settle(const Comm& group, std::span<const Item> mine, Count beside,
               std::span<const Rank> ranks, Count most_bytes, const SlabRules& rules,
               DataFileWriter* file) {
  static_assert(std::is_trivially_copyable_v<Item>);
  const auto each = static_cast<std::size_t>(
      std::max<Count>(most_bytes / (static_cast<Count>(sizeof(Item)) * group.size()), 1));
  const auto me = static_cast<std::size_t>(group.rank());
  Settled settled;
  settled.places.reserve(mine.size());
  for (bool more = true; more;) {
    const auto rest = mine.subspan(settled.places.size());
    const Told told =
        tell(group, rest.first(std::min(each, rest.size())), rest.size() > each, beside);
    settled.most_beside = told.most_beside;
    more = std::find(told.more.begin(), told.more.end(), true) != told.more.end();
    std::optional<Item> last;
    for (std::size_t r = 0; r < told.of.size(); ++r)
      if (told.more[r] && (!last || told.of[r].back().place() < last->place()))
        last = told.of[r].back();

    std::vector<std::size_t> at(told.of.size(), 0);
    std::vector<Slab> slabs;
    std::vector<FreshSlab> fresh;
    std::vector<DataFileWriter::MapMember> members;
    const std::size_t before = settled.places.size();
    Offset end = 0;
    while (true) {
      std::optional<Item> lowest;
      for (std::size_t r = 0; r < told.of.size(); ++r)
        if (at[r] < told.of[r].size() && (!lowest || told.of[r][at[r]].place() < lowest->place()))
          lowest = told.of[r][at[r]];
      if (!lowest || (last && last->place() < lowest->place())) break;
      Slab slab{*lowest, end, 0, members.size(), std::nullopt};
      const Count element = rules.width(lowest->var);
      const bool encoded = rules.is_encoded(lowest->var);
      if (encoded) {
        slab.fresh = fresh.size();
        fresh.push_back({*lowest, 0, {lowest->var, element, {}}, std::nullopt});
      }
      bool is_mine_last = false;
      for (std::size_t r = 0; r < told.of.size(); ++r) {
        if (at[r] == told.of[r].size() || told.of[r][at[r]].place() != lowest->place()) continue;
        const Item& item = told.of[r][at[r]++];
        is_mine_last = r == me && !encoded;
        if (encoded) {
          fresh.back().data.blobs.push_back({static_cast<Rank>(r), item.elements, item.pattern});
          if (r == me) fresh.back().mine = settled.places.size();
        }
        if (r == me) settled.places.push_back({encoded ? BlobPlace::encoded : end + slab.bytes, 0});
        slab.bytes += item.elements * element;
        if (file)
          members.push_back({static_cast<std::uint32_t>(ranks[r]), item.pattern, item.elements});
      }
      if (!encoded) end += round_up(slab.bytes, FileSpace::unit);
      if (is_mine_last) settled.places.back().padding = end - slab.offset - slab.bytes;
      settled.orders = std::max(settled.orders, lowest->order + 1);
      if (file) slabs.push_back(slab);
    }
    const Offset begin = told_by_root(group, [&]() -> Offset {
      if (!file) return 0;
      const Offset free = end > 0 ? file->allocate(end) : 0;
      for (std::size_t i = 0; i < slabs.size(); ++i) {
        const Slab& slab = slabs[i];
        const std::size_t next = i + 1 < slabs.size() ? slabs[i + 1].members : members.size();
        const std::uint32_t map =
            file->number_of(std::span(members).subspan(slab.members, next - slab.members));
        if (slab.fresh)
          fresh[*slab.fresh].map = map;
        else
          file->add({slab.first.var, slab.first.record, slab.first.order, map, free + slab.offset,
                     slab.bytes});
      }
      return free;
    });
    for (std::size_t i = before; i < settled.places.size(); ++i)
      if (settled.places[i].offset != BlobPlace::encoded) settled.places[i].offset += begin;
    if (!fresh.empty()) rules.encode(fresh);
  }
  return settled;
}

}  // namespace forebay::decomposed
