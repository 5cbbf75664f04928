// The files beside a file with decomposed variables: FILE.subfiles/state, and data files
// FILE.subfiles/0, 1, …, one for each group of ranks. docs/formats.md has the grammar.
//
//     state      slot{3}                       which commit is the newest; is written last
//     data file  front root{3} block*          a root names the newest section of a commit
//     block      slab* section                 one for each write, where there is space
//     section    epoch previous pattern* map* entry* inverse* hash     what that write added
//     entry      … part*                       of a slab that was encoded
//
// A pattern is the set of elements of a variable (of one record of it) that one rank selected. A
// map is the patterns of several ranks. An entry says where a slab lies. A slab is the values of
// one variable and record by one map, rank after rank. Patterns and maps are numbered in the order
// of the sections. If a variable has a codec, its slabs are cut into parts. Each part is a chunk of
// one dimension, which is stored compressed, or as it was. Parts have checksums.
//
// Fixed-width numbers are big-endian. The others are of variable length (base/varint.h). Parsing
// throws only Errc::enotnc.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stale_files.h"
#include "base/types.h"
#include "format/data_file_front.h"
#include "store/slots.h"

namespace forebay::decomposed {

using data_files::Front, data_files::damaged, data_files::parse_front, data_files::print_front;

/// A slot is written whole, by one system call, and lies within one sector.
using store::slots, store::slot_bytes;

/// The front is a block of slot_bytes at the beginning of a data file. Roots follow it.
constexpr Offset root_place(int slot) { return (1 + slot) * slot_bytes; }
constexpr Offset first_block = 4096;

struct Root {
  std::uint64_t epoch = 0;
  Offset section = 0;  ///< the newest section
  Count bytes = 0;

  std::uint64_t number() const { return epoch; }
  bool operator==(const Root&) const = default;
};
std::vector<std::byte> print_root(const Root& root);
/// Returns nothing for an empty slot or a damaged one.
std::optional<Root> parse_root(std::span<const std::byte> bytes);

/// What a state knows about the current roots: sums over all data files, modulo 2^64, of a hash of
/// number and root (0 where there is no root). A killed program leaves roots that agree with the
/// sums. If they disagree, a root or a file was damaged or replaced later, and has older data.
struct RootSums {
  std::uint64_t plain = 0;
  std::uint64_t weighted = 0;  ///< hashes times file numbers: they tell which single file is wrong

  bool operator==(const RootSums&) const = default;
  RootSums& operator+=(const RootSums& b) {
    plain += b.plain, weighted += b.weighted;
    return *this;
  }
  RootSums operator-(const RootSums& b) const { return {plain - b.plain, weighted - b.weighted}; }
};
RootSums sums_of(std::uint32_t number, const std::optional<Root>& root);
/// Returns which of `files` has another root than expected, if there is exactly one such file.
std::optional<std::uint32_t> wrong_file(const RootSums& expected, const RootSums& found,
                                        std::uint32_t files);

/// A commit. The current root of each data file is the newest one whose epoch is not later than
/// `through`. `through` equals `epoch`, except where later roots are given up. Such a state is
/// written before anything is changed that the given-up states use, and overrules them.
struct State {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;  ///< the state with the highest epoch is the current one
  std::uint64_t through = 0;
  Count records = 0;
  std::uint32_t files = 0;  ///< number of data files
  RootSums roots;
  bool synced = false;  ///< all of it is on the device

  std::uint64_t number() const { return epoch; }
  bool operator==(const State&) const = default;
};
constexpr Offset state_place(int slot) { return slot * slot_bytes; }
std::vector<std::byte> print_state(const State& state);
std::optional<State> parse_state(std::span<const std::byte> bytes);

/// The 128-bit xxh3 of a printed pattern.
struct Key {
  std::uint64_t low = 0, high = 0;

  bool operator==(const Key&) const = default;
  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct StoredPattern {
  Key key;
  Count elements = 0;
  std::vector<std::byte> packed;  ///< as layout/packed_pattern.h makes it
};

struct Member {
  std::uint32_t rank = 0;
  std::uint32_t pattern = 0;

  bool operator==(const Member&) const = default;
  auto operator<=>(const Member&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Map = std::vector<Member>;  ///< in the order of ranks

/// An entry of this record has no bytes. It says by which map a variable was defined: the first
/// variable whose anchor has the map's number. Of several entries, those of the last epoch count.
constexpr Count defining_record = INT64_MAX;

/// Neighbouring elements of a slab, as they are stored.
struct StoredPart {
  Count elements = 0;
  Offset offset = 0;
  Count bytes = 0;            ///< at most the size of its elements
  std::uint32_t skipped = 0;  ///< stages of the pipeline that were not applied (codec/pipeline.h)
  std::uint64_t hash = 0;     ///< of the stored bytes
  bool sorted = false;        ///< its elements are in the order of the array, not of the ranks

  bool operator==(const StoredPart&) const = default;
};
/// An upper bound for the bytes of a part's elements, so that a reader knows what it has to hold.
constexpr Count most_part_bytes = Count{256} << 20;
/// Parts begin at multiples of this.
constexpr Count part_unit = 8;

struct Entry {
  std::int32_t var = 0;
  Count record = 0;
  std::uint32_t order = 0;  ///< number of the write among a rank's writes of one epoch
  std::uint32_t map = 0;
  Offset offset = 0;
  Count bytes = 0;          ///< of its elements
  std::uint64_t epoch = 0;  ///< of its section, unless that one repeats or gathers earlier entries
  std::vector<StoredPart> parts =
      {};  ///< in order; empty: the elements lie at `offset` as they are

  bool operator==(const Entry&) const = default;

  /// An entry without values says by which map a variable is defined.
  bool has_values() const { return bytes > 0; }
  Count stored_bytes() const {
    Count sum = parts.empty() ? bytes : 0;
    for (const StoredPart& part : parts) sum += part.bytes;
    return sum;
  }
  /// Calls f(offset, bytes) for each place of its bytes in the file.
  template <typename F>
  void for_each_extent(F&& f) const {
    if (parts.empty()) return f(offset, bytes);
    for (const StoredPart& part : parts) f(part.offset, part.bytes);
  }
};

struct FileRange {
  Offset offset = 0;
  Count bytes = 0;

  bool operator==(const FileRange&) const = default;
};

/// The inverse of a map (decomposed/format/inverse_map.h): its pages, then their directory as the
/// last block.
struct StoredInverse {
  std::uint32_t map = 0;
  std::vector<FileRange> blocks;
  std::uint64_t hash = 0;  ///< of the directory

  const FileRange& directory() const { return blocks.back(); }
  bool operator==(const StoredInverse&) const = default;
};

struct Section {
  std::uint64_t epoch = 0;
  Offset previous = 0;  ///< the section before it; 0: none, this one is complete
  Count previous_bytes = 0;
  std::uint64_t previous_epoch = 0;  ///< tells whether another section came to the same place since
  std::uint32_t first_pattern = 0, first_map = 0;  ///< numbers of its first ones
  std::vector<StoredPattern> patterns;
  std::vector<Map> maps;
  std::vector<Entry> entries;
  std::vector<StoredInverse> inverses;
};
std::vector<std::byte> print_section(const Section& section);
/// Numbers of patterns and maps in the result are those of this section or earlier ones. All places
/// of entries are within the file of `file_size` bytes.
Section parse_section(std::span<const std::byte> bytes, Offset file_size);

}  // namespace forebay::decomposed
