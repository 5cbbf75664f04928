// What lies beside a file with decomposed variables: FILE.subfiles/state, and data files
// FILE.subfiles/0, 1, …, one a group of ranks (docs/formats.md has the grammar).
//
//     state      slot{3}                       which commit is the newest; the last to be written
//     data file  front root{3} block*          a root names the newest section of a commit
//     block      slab* section                 one a write, where there is space
//     section    epoch previous pattern* map* entry* inverse* hash     what that write added
//     entry      … part*                       of a slab that was encoded
//
// A pattern is which elements of a variable (of one record of it) one rank selected; a map is the
// patterns of several ranks; an entry says where a slab lies: the values of one variable and record
// by one map, rank after rank. Patterns and maps are numbered in the order of the sections. A slab
// whose variable has a codec is cut into parts, each a chunk of one dimension that the codec made
// smaller, or left as it was; parts have checksums.
//
// Fixed-width numbers are big-endian; the others are of variable length (base/varint.h). Parsing
// throws nothing but Errc::enotnc.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/leavings.h"
#include "base/types.h"

namespace forebay::decomposed {

/// Throws Errc::enotnc.
[[noreturn]] void damaged(const std::string& what);

/// Slots are written whole, by one system call within a sector.
constexpr Count slot_bytes = state_slot_bytes;
constexpr int slots = state_slots;

struct Front {
  std::uint64_t id = 0;  ///< random; the header of the classic file has it, too
  std::uint32_t number = 0;

  bool operator==(const Front&) const = default;
};
/// A block of slot_bytes at the beginning of a data file; roots follow.
constexpr Offset root_place(int slot) { return (1 + slot) * slot_bytes; }
constexpr Offset first_block = 4096;

std::vector<std::byte> print_front(const Front& front);
Front parse_front(std::span<const std::byte> bytes);

struct Root {
  std::uint64_t epoch = 0;
  Offset section = 0;  ///< the newest
  Count bytes = 0;

  bool operator==(const Root&) const = default;
};
std::vector<std::byte> print_root(const Root& root);
/// Nothing for an empty slot, or a damaged one.
std::optional<Root> parse_root(std::span<const std::byte> bytes);

/// What a state knows of the roots that count: over all data files sums, modulo 2^64, of a hash of
/// number and root (0 where there is none). A kill leaves roots that agree with them: where they do
/// not, a root or a file was damaged or replaced later, and shows what is older.
struct RootSums {
  std::uint64_t plain = 0;
  std::uint64_t weighted = 0;  ///< each times its file's number: so one wrong file is known

  bool operator==(const RootSums&) const = default;
  RootSums& operator+=(const RootSums& b) {
    plain += b.plain, weighted += b.weighted;
    return *this;
  }
  RootSums operator-(const RootSums& b) const { return {plain - b.plain, weighted - b.weighted}; }
};
RootSums sums_of(std::uint32_t number, const std::optional<Root>& root);
/// Of `files` the one whose root differs, if it is the only one.
std::optional<std::uint32_t> wrong_file(const RootSums& expected, const RootSums& found,
                                        std::uint32_t files);

/// A commit: of each data file the newest root counts whose epoch is not later than `through`. That
/// is `epoch`, but where later roots are given up: a state that says so overrules the states that
/// they belong to, before anything that those use is touched.
struct State {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;  ///< of several states the highest counts
  std::uint64_t through = 0;
  Count records = 0;
  std::uint32_t files = 0;  ///< data files that there are
  RootSums roots;
  bool synced = false;  ///< all of it is on the device

  bool operator==(const State&) const = default;
};
constexpr Offset state_place(int slot) { return slot * slot_bytes; }
std::vector<std::byte> print_state(const State& state);
std::optional<State> parse_state(std::span<const std::byte> bytes);

/// 128 bits of xxh3 of a pattern as it is printed.
struct Key {
  std::uint64_t low = 0, high = 0;

  bool operator==(const Key&) const = default;
  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct StoredPattern {
  Key key;
  Count elements = 0;
  std::vector<std::byte> packed;  ///< layout/packed_pattern.h
};

struct Member {
  std::uint32_t rank = 0;
  std::uint32_t pattern = 0;

  bool operator==(const Member&) const = default;
  auto operator<=>(const Member&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Map = std::vector<Member>;  ///< by rank

/// An entry of this record has no bytes: its map is the one by which the variable was defined, the
/// first one whose anchor has that map's number. Of several those of the last epoch count.
constexpr Count defining_record = INT64_MAX;

/// Neighbouring elements of a slab, as they are stored.
struct StoredPart {
  Count elements = 0;
  Offset offset = 0;
  Count bytes = 0;            ///< no more than those of its elements
  std::uint32_t skipped = 0;  ///< stages of the pipeline that were not applied (codec/pipeline.h)
  std::uint64_t hash = 0;     ///< of the stored bytes
  bool sorted = false;        ///< its elements are in the order of the array, not in that of ranks

  bool operator==(const StoredPart&) const = default;
};
/// A part's elements have no more bytes than this, so that a reader knows what it has to hold.
constexpr Count most_part_bytes = Count{256} << 20;
/// Where parts begin.
constexpr Count part_unit = 8;

struct Entry {
  std::int32_t var = 0;
  Count record = 0;
  std::uint32_t order = 0;  ///< of a rank's writes of one epoch
  std::uint32_t map = 0;
  Offset offset = 0;
  Count bytes = 0;          ///< of its elements
  std::uint64_t epoch = 0;  ///< its section's, unless that repeats or gathers what came before
  std::vector<StoredPart> parts =
      {};  ///< in order; empty: the elements lie at `offset` as they are

  bool operator==(const Entry&) const = default;

  /// Others tell which map a variable is defined by.
  bool has_values() const { return bytes > 0; }
  Count stored_bytes() const {
    Count sum = parts.empty() ? bytes : 0;
    for (const StoredPart& part : parts) sum += part.bytes;
    return sum;
  }
  /// Calls f(offset, bytes) for where it lies in the file.
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

/// The inverse of a map (format/inverse_map.h): pages, and last of all their directory.
struct StoredInverse {
  std::uint32_t map = 0;
  std::vector<FileRange> blocks;
  std::uint64_t hash = 0;  ///< of the directory

  const FileRange& directory() const { return blocks.back(); }
  bool operator==(const StoredInverse&) const = default;
};

struct Section {
  std::uint64_t epoch = 0;
  Offset previous = 0;  ///< the section before it; 0: it tells all
  Count previous_bytes = 0;
  std::uint64_t previous_epoch = 0;  ///< another one may have come to the same place since
  std::uint32_t first_pattern = 0, first_map = 0;  ///< numbers of its first ones
  std::vector<StoredPattern> patterns;
  std::vector<Map> maps;
  std::vector<Entry> entries;
  std::vector<StoredInverse> inverses;
};
std::vector<std::byte> print_section(const Section& section);
/// Numbers of patterns and maps are those of this section or earlier ones; what entries say is
/// within the file that has `file_size` bytes.
Section parse_section(std::span<const std::byte> bytes, Offset file_size);

}  // namespace forebay::decomposed
