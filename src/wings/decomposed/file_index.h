// FileIndex: the sections of one data file in memory: patterns, maps and current slabs. No I/O.
//
// A slab replaces an older one of the same variable, record and map, as it has the same elements.
// The space of the older one is free after the commit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "decomposed/format/decomposed_files.h"

namespace forebay::decomposed {

class FileIndex {
 public:
  using Replaced = std::function<void(const Entry& older)>;

  /// Adds what a section has. A section without a previous one replaces everything. Errc::enotnc if
  /// it does not continue the present state, or if an entry's size fits no type.
  void add(const Section& section, const Replaced& replaced = nullptr);

  /// Returns the slabs of one record of a variable (0 if it has no records), by epoch.
  std::span<const Entry> slabs(VarId var, Count record) const;
  const StoredPattern& pattern(std::uint32_t number) const { return patterns_[number]; }
  const Map& map(std::uint32_t number) const { return maps_[number]; }
  Count elements(std::uint32_t map) const { return map_elements_[map]; }
  /// Returns a 128-bit hash of a map. In other files and commits its number may mean another map.
  const Key& identity(std::uint32_t map) const { return identities_[map]; }
  /// Returns the inverse of a map; null if there is none.
  const StoredInverse* inverse(std::uint32_t map) const;
  std::uint32_t patterns() const { return static_cast<std::uint32_t>(patterns_.size()); }
  std::uint32_t maps() const { return static_cast<std::uint32_t>(maps_.size()); }
  std::optional<std::uint32_t> find(const Key& pattern) const;
  std::optional<std::uint32_t> find(const Map& map) const;

  Count memory() const;  ///< approximate bytes of all of this
  template <typename F>
  void for_each_slab(F&& f) const {
    for (const auto& [place, list] : slabs_)
      for (const Entry& entry : list) f(entry);
  }
  template <typename F>
  void for_each_inverse(F&& f) const {
    for (const auto& [map, inverse] : inverses_) f(inverse);
  }
  /// Returns a section with everything.
  Section whole(std::uint64_t epoch) const;

 private:
  void add_entry(const Entry& entry, const Replaced& replaced);

  std::vector<StoredPattern> patterns_;
  std::vector<Map> maps_;
  std::vector<Count> map_elements_;
  std::vector<Key> identities_;
  std::map<std::uint32_t, StoredInverse> inverses_;
  std::map<Key, std::uint32_t> pattern_numbers_;
  std::multimap<std::uint64_t, std::uint32_t> map_numbers_;  // by a hash
  std::map<std::pair<VarId, Count>, std::vector<Entry>> slabs_;
  Count entries_ = 0, bytes_ = 0;
};

}  // namespace forebay::decomposed
