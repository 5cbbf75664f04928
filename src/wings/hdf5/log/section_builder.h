// Collects one rank's entries between two flushes into a section of metadata. Each selection is
// stored once (Hou 2023, §6.2.3, deduplication across variables and across records).
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "hdf5/format/log_section.h"
#include "layout/packed_pattern.h"

namespace forebay::logged {

class SectionBuilder {
 public:
  /// Keeps patterns for reuse in at most `most_bytes` of memory. Drops the least recently used ones
  /// first. A dropped pattern is stored anew when it is used again.
  SectionBuilder(std::uint32_t rank, Count most_bytes);

  /// Adds an entry, and sets its `pattern` and `rank`. `pattern` is null for Kind::cleared.
  void add(Entry entry, const Pattern* pattern);

  std::size_t entries() const { return section_.entries.size(); }
  const std::vector<Entry>& pending() const { return section_.entries; }
  /// Returns the pattern of a pending entry.
  const Pattern& pattern_of(const Entry& entry) const { return uses_[entry.pattern]->pattern; }

  /// The patterns of pending entries: a new one has packed bytes, another one a reference.
  std::size_t patterns() const { return uses_.size(); }
  std::span<const std::byte> packed(std::size_t n) const { return local_[n]; }
  const PatternRef& reference(std::size_t n) const { return section_.patterns[n]; }

  /// Sets where the data of the pending entries from `first` on lies: in `file`, from `begin` on.
  /// Their places were counted from 0.
  void place_data(std::size_t first, std::uint32_t file, Offset begin);

  /// Returns the bytes of the section. Nothing may be added between this and placed().
  std::vector<std::byte> print();
  /// Sets the place of the section, so that later ones can name its patterns. Begins the next
  /// section.
  void placed(Offset place);

  const Savings& savings() const { return section_.savings; }  ///< of the pending section

 private:
  /// A pattern that was used before, and where it is.
  struct Known {
    Pattern pattern;
    std::uint64_t hash = 0;
    PatternRef ref;            // set when it is placed
    std::int64_t number = -1;  // in the pending section's table; -1: not there yet
    Count memory = 0;
    std::size_t packed = 0;
  };
  using Place = std::list<Known>::iterator;

  Place find(const Pattern& pattern, std::uint64_t hash);  ///< known_.end() if it is new
  Place remember(const Pattern& pattern, std::uint64_t hash);
  void forget();
  static void count_blocks(const Pattern& pattern, std::size_t packed, Savings& savings);

  std::uint32_t rank_;
  Count most_bytes_, remembered_ = 0;
  PatternPacker packer_;
  std::list<Known> known_;  // most recently used first
  std::unordered_multimap<std::uint64_t, Place> by_hash_;
  Section section_;
  std::vector<Place> uses_;                    // of the section's table
  std::vector<std::vector<std::byte>> local_;  // bytes of its new patterns
};

}  // namespace forebay::logged
