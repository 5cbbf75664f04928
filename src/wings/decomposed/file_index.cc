#include "decomposed/file_index.h"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace forebay::decomposed {
namespace {

/// Checks part sizes, since a reader allocates memory for a part's elements and stored bytes.
void check_parts(const Entry& entry, Count elements) {
  if (entry.parts.empty()) return;
  const Count width = elements == 0 ? 0 : entry.bytes / elements;
  for (const StoredPart& part : entry.parts) {
    if (part.elements < 1 || width < 1 || part.elements > most_part_bytes / width ||
        part.elements > elements || part.bytes > part.elements * width)
      damaged("a part of a slab has a size that cannot be");
    elements -= part.elements;
  }
  if (elements != 0) damaged("the parts of a slab have other elements than its map");
}

Count memory_of(const Entry& entry) {
  return static_cast<Count>(entry.parts.size() * sizeof(StoredPart));
}

std::uint64_t hash_of_map(const Map& map) { return hash_of(std::as_bytes(std::span(map))); }

Key identity_of(const Map& map, const std::vector<StoredPattern>& patterns) {
  std::vector<std::uint64_t> told;
  told.reserve(4 * map.size());
  for (const Member& member : map) {
    const StoredPattern& pattern = patterns[member.pattern];
    told.insert(told.end(), {member.rank, pattern.key.low, pattern.key.high,
                             static_cast<std::uint64_t>(pattern.elements)});
  }
  const XXH128_hash_t hash = XXH3_128bits(told.data(), told.size() * sizeof told[0]);
  return {hash.low64, hash.high64};
}

}  // namespace

void FileIndex::add(const Section& section, const Replaced& replaced) {
  if (section.previous == 0) *this = {};
  if (section.first_pattern != patterns() || section.first_map != maps())
    damaged("a section does not continue the one before it");
  for (const StoredPattern& pattern : section.patterns) {
    if (pattern.elements < 1) damaged("a pattern has no elements");
    pattern_numbers_.emplace(pattern.key, patterns());
    bytes_ += static_cast<Count>(sizeof pattern + 64 + pattern.packed.size());
    patterns_.push_back(pattern);
  }
  for (const Map& map : section.maps) {
    Count sum = 0;
    for (const Member& member : map)
      if (!add_fits(sum, patterns_[member.pattern].elements, sum))
        damaged("a map has more elements than can be");
    map_numbers_.emplace(hash_of_map(map), maps());
    bytes_ += static_cast<Count>(64 + sizeof(Key) + map.size() * sizeof(Member));
    maps_.push_back(map);
    map_elements_.push_back(sum);
    identities_.push_back(identity_of(map, patterns_));
  }
  for (const Entry& entry : section.entries) {
    const Count elements = map_elements_[entry.map];
    if (elements == 0 ? entry.bytes != 0
                      : entry.bytes % elements != 0 || entry.bytes / elements > 8)
      damaged("a slab has other bytes than its map's elements");
    check_parts(entry, elements);
    add_entry(entry, replaced);
  }
  for (const StoredInverse& inverse : section.inverses) {
    const bool is_new = inverses_.insert_or_assign(inverse.map, inverse).second;
    if (!is_new) continue;  // an inverse that was moved
    bytes_ += static_cast<Count>(64 + sizeof inverse + inverse.blocks.size() * sizeof(FileRange));
  }
}

void FileIndex::add_entry(const Entry& entry, const Replaced& replaced) {
  auto& list = slabs_[{entry.var, entry.record}];
  const auto older =
      std::find_if(list.begin(), list.end(), [&](const Entry& e) { return e.map == entry.map; });
  if (older != list.end()) {
    if (replaced) replaced(*older);
    bytes_ -= memory_of(*older);
    list.erase(older);
    --entries_;
  }
  const auto later =
      std::find_if(list.begin(), list.end(), [&](const Entry& e) { return e.epoch > entry.epoch; });
  list.insert(later, entry);
  bytes_ += memory_of(entry);
  ++entries_;
}

std::span<const Entry> FileIndex::slabs(VarId var, Count record) const {
  const auto found = slabs_.find({var, record});
  if (found == slabs_.end()) return {};
  return found->second;
}

const StoredInverse* FileIndex::inverse(std::uint32_t map) const {
  const auto found = inverses_.find(map);
  return found == inverses_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> FileIndex::find(const Key& pattern) const {
  const auto found = pattern_numbers_.find(pattern);
  if (found == pattern_numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint32_t> FileIndex::find(const Map& map) const {
  const auto [first, last] = map_numbers_.equal_range(hash_of_map(map));
  for (auto at = first; at != last; ++at)
    if (maps_[at->second] == map) return at->second;
  return std::nullopt;
}

Count FileIndex::memory() const {
  constexpr Count each = 128;  // for a record with one slab, with its tree node
  return bytes_ + each * entries_;
}

Section FileIndex::whole(std::uint64_t epoch) const {
  Section section;
  section.epoch = epoch;
  section.patterns = patterns_;
  section.maps = maps_;
  section.entries.reserve(static_cast<std::size_t>(entries_));
  for_each_slab([&](const Entry& entry) { section.entries.push_back(entry); });
  std::sort(section.entries.begin(), section.entries.end(), [](const Entry& a, const Entry& b) {
    return a.offset < b.offset;  // this order makes differences short
  });
  for_each_inverse([&](const StoredInverse& inverse) { section.inverses.push_back(inverse); });
  return section;
}

}  // namespace forebay::decomposed
