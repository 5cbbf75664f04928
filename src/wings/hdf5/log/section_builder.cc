#include "hdf5/log/section_builder.h"

#include <xxhash.h>

#include <algorithm>

#include "base/reserve_one_more.h"

namespace forebay::logged {
namespace {

template <typename T>
std::uint64_t mixed(const std::vector<T>& list, std::uint64_t seed) {
  return XXH3_64bits_withSeed(list.data(), list.size() * sizeof(T), seed + list.size());
}

Count memory_of_built(const Pattern& pattern) {
  return static_cast<Count>(256 + pattern.runs.size() * sizeof(PatternRun) +
                            pattern.outer.size() * sizeof(Steps) + pattern.inner.size() * 8);
}

/// Hash of all that makes a pattern.
std::uint64_t hash_of_pattern(const Pattern& pattern) {
  return mixed(pattern.runs, mixed(pattern.outer, mixed(pattern.inner, 0)));
}

}  // namespace

SectionBuilder::SectionBuilder(std::uint32_t rank, Count most_bytes)
    : rank_(rank), most_bytes_(most_bytes) {
  section_.rank = rank;
}

/// Counts the plain encoding of Hou 2023: each hyperslab with start and count in every dimension.
void SectionBuilder::count_blocks(const Pattern& pattern, std::size_t packed, Savings& savings) {
  std::uint64_t apart = 1, runs = pattern.runs.size(), flat = 1;
  for (const Steps& steps : pattern.outer) {
    if (steps.stride != 1) apart *= static_cast<std::uint64_t>(steps.count);
    flat *= static_cast<std::uint64_t>(steps.count);
  }
  ++savings.writes;
  savings.blocks += apart * runs;
  savings.plain += apart * runs * 16 * pattern.ndims();
  savings.flat += 16 * std::min(flat * runs, runs + pattern.outer.size());
  savings.packed += packed;
}

SectionBuilder::Place SectionBuilder::find(const Pattern& pattern, std::uint64_t hash) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at)
    if (at->second->pattern == pattern) {
      known_.splice(known_.begin(), known_, at->second);
      return known_.begin();
    }
  return known_.end();
}

SectionBuilder::Place SectionBuilder::remember(const Pattern& pattern, std::uint64_t hash) {
  known_.push_front({pattern, hash, {}, -1, memory_of_built(pattern), 0});
  try {
    by_hash_.emplace(hash, known_.begin());
  } catch (...) {
    known_.pop_front();
    throw;
  }
  remembered_ += known_.front().memory;
  return known_.begin();
}

void SectionBuilder::forget() {
  for (auto at = known_.end(); at != known_.begin() && remembered_ > most_bytes_;) {
    --at;
    if (at->number >= 0) continue;  // the pending section names it
    const auto [begin, end] = by_hash_.equal_range(at->hash);
    for (auto i = begin; i != end; ++i)
      if (i->second == at) {
        by_hash_.erase(i);
        break;
      }
    remembered_ -= at->memory;
    at = known_.erase(at);
  }
}

// All memory is allocated before anything changes, so an entry is added as a whole or not at all.
void SectionBuilder::add(Entry entry, const Pattern* pattern) {
  entry.rank = rank_;
  reserve_one_more(section_.entries);
  if (pattern != nullptr) {
    reserve_one_more(uses_);
    reserve_one_more(local_);
    reserve_one_more(section_.patterns);
    const std::uint64_t hash = hash_of_pattern(*pattern);
    Place place = find(*pattern, hash);
    const bool is_new = place == known_.end();
    std::vector<std::byte> packed;
    if (is_new) {
      packed = packer_.pack(*pattern);
      place = remember(*pattern, hash);
      place->packed = packed.size();
      section_.savings.stored += place->packed;
    } else {
      ++section_.savings.shared;
    }
    if (place->number < 0) {
      place->number = static_cast<std::int64_t>(uses_.size());
      uses_.push_back(place);
      local_.push_back(std::move(packed));
      section_.patterns.push_back(place->ref);
    }
    entry.pattern = static_cast<std::uint32_t>(place->number);
    count_blocks(*pattern, place->packed, section_.savings);
  }
  section_.entries.push_back(entry);
}

void SectionBuilder::place_data(std::size_t first, std::uint32_t file, Offset begin) {
  for (std::size_t i = first; i < section_.entries.size(); ++i) {
    section_.entries[i].file = file;
    section_.entries[i].data += begin;
  }
}

std::vector<std::byte> SectionBuilder::print() { return print_section(section_, local_); }

void SectionBuilder::placed(Offset place) {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    Known& known = *uses_[i];
    if (!local_[i].empty()) {
      known.ref = section_.patterns[i];
      known.ref.place += place;
    }
    known.number = -1;
  }
  section_ = {};
  section_.rank = rank_;
  uses_.clear();
  local_.clear();
  forget();
}

}  // namespace forebay::logged
