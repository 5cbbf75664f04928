// FileIndex: what the sections of one data file tell, in memory: patterns, maps, and the slabs that
// count. No I/O.
//
// A slab that was written by the map of an older one of the same variable and record covers each of
// its elements: the older one counts no more, and its space is free once that is committed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/types.h"
#include "format/decomposed.h"

namespace forebay::decomposed {

class FileIndex {
 public:
  using Replaced = std::function<void(const Entry& older)>;

  /// Takes over what a section adds; one that tells all replaces all. Errc::enotnc where it does
  /// not continue what is there, or an entry's bytes are not those of its map's elements in some
  /// type.
  void add(const Section& section, const Replaced& replaced = nullptr);

  /// Slabs of one record of a variable (0 for one without records), by epoch.
  std::span<const Entry> slabs(VarId var, Count record) const;
  const StoredPattern& pattern(std::uint32_t number) const { return patterns_[number]; }
  const Map& map(std::uint32_t number) const { return maps_[number]; }
  Count elements(std::uint32_t map) const { return map_elements_[map]; }
  /// What the map has, in 128 bits: other files and commits may have its number for another one.
  const Key& identity(std::uint32_t map) const { return identities_[map]; }
  /// Its inverse; null: there is none.
  const StoredInverse* inverse(std::uint32_t map) const;
  std::uint32_t patterns() const { return static_cast<std::uint32_t>(patterns_.size()); }
  std::uint32_t maps() const { return static_cast<std::uint32_t>(maps_.size()); }
  std::optional<std::uint32_t> find(const Key& pattern) const;
  std::optional<std::uint32_t> find(const Map& map) const;

  Count memory() const;  ///< bytes that all this takes, about
  template <typename F>
  void for_each_slab(F&& f) const {
    for (const auto& [place, list] : slabs_)
      for (const Entry& entry : list) f(entry);
  }
  template <typename F>
  void for_each_inverse(F&& f) const {
    for (const auto& [map, inverse] : inverses_) f(inverse);
  }
  /// A section that tells all that there is.
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
