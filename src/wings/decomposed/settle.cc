#include "decomposed/settle.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/message_bytes.h"

namespace forebay::decomposed {
namespace {

struct ToldSlab {
  Item first;  // its place
  Offset offset = 0;
  Count bytes = 0;
  std::size_t members = 0;           // index of the first one
  std::optional<std::size_t> fresh;  // index among the slabs to be encoded
};

}  // namespace

// The first item is a header: `var` says whether more items follow, `elements` is the number of
// bytes after the items, and `record` says whether there are bytes `left`.
std::vector<std::byte> to_tell(std::span<const Item> items, bool more, const ForLeader& beside) {
  Item first;
  first.var = more;
  first.elements = std::ssize(beside.along);
  first.record = !beside.left.empty();
  std::vector<std::byte> told;
  told.reserve(sizeof first + items.size_bytes() + beside.along.size());
  for (const auto part : {std::as_bytes(std::span(&first, 1)), std::as_bytes(items),
                          std::span<const std::byte>(beside.along)})
    told.insert(told.end(), part.begin(), part.end());
  return told;
}

ToldItems told_by_all(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes) {
  ToldItems told;
  for (const std::int64_t size : sizes) {
    auto its = bytes.first(static_cast<std::size_t>(size));
    bytes = bytes.subspan(its.size());
    const auto first = take<Item>(its);
    const auto items = its.first(its.size() - static_cast<std::size_t>(first.elements));
    const auto along = its.subspan(items.size());
    told.of.push_back(all_of<Item>(items));
    told.more.push_back(first.var != 0);
    told.along.insert(told.along.end(), along.begin(), along.end());
  }
  return told;
}

bool any_left(std::span<const std::byte> bytes, std::span<const std::int64_t> sizes) {
  bool any = false;
  for (const std::int64_t size : sizes) {
    auto its = bytes;
    any = any || take<Item>(its).record != 0;
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return any;
}

// A rank that has more items has sent all before its last place. So all places up to the lowest
// such last place are settled in this round. The rank with that place has all its sent items
// settled, so each round makes progress.
Settled settle(const Comm& group, std::span<const Item> mine, const ForLeader& beside,
               std::span<const Rank> ranks, Count most_bytes, const SlabRules& rules,
               DataFileWriter* file) {
  static_assert(std::is_trivially_copyable_v<Item>);
  const auto each = static_cast<std::size_t>(
      std::max<Count>(most_bytes / (static_cast<Count>(sizeof(Item)) * group.size()), 1));
  const auto me = static_cast<std::size_t>(group.rank());
  Settled settled;
  settled.places.reserve(mine.size());
  const ForLeader nothing;
  for (bool more = true, first = true; more; first = false) {
    const auto rest = mine.subspan(settled.places.size());
    std::vector<std::int64_t> sizes;
    const auto bytes = group.all_gather_bytes(to_tell(rest.first(std::min(each, rest.size())),
                                                      rest.size() > each, first ? beside : nothing),
                                              sizes);
    ToldItems told = told_by_all(bytes, sizes);
    if (first) {
      settled.along = std::move(told.along);
      settled.any_left = any_left(bytes, sizes);
    }
    more = std::find(told.more.begin(), told.more.end(), true) != told.more.end();
    std::optional<Item> last;
    for (std::size_t r = 0; r < told.of.size(); ++r)
      if (told.more[r] && (!last || told.of[r].back().place() < last->place()))
        last = told.of[r].back();

    std::vector<std::size_t> at(told.of.size(), 0);
    std::vector<ToldSlab> slabs;
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
      ToldSlab slab{*lowest, end, 0, members.size(), std::nullopt};
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
        const ToldSlab& slab = slabs[i];
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
