// The metadata of the log layout (Hou 2023, §6.2.2, §6.2.3): sections of entries, and the patterns
// that the entries name. docs/formats.md has the grammar.
//
//     metadata block   table | section of rank 0 | section of rank 1 | …
//     section          header | pattern table | entries | patterns
//
// A section holds what one rank wrote between two flushes, and is decoded alone. An entry names its
// pattern by a number in the section's table. The table says where the pattern lies: in this
// section or, if the same selection was written before a flush, in an earlier one. Fixed-width
// numbers are big-endian, which the header says. The others are variable-length integers. Every
// part carries its xxh3-64 (patterns: the low half).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"
#include "format/pattern_bytes.h"

namespace forebay::logged {

constexpr std::uint64_t largest_epoch = UINT32_MAX;

/// Where a stored pattern lies.
struct PatternRef {
  Offset place = 0;  ///< in the file that holds the metadata
  std::uint32_t bytes = 0;
  std::uint32_t check = 0;  ///< low half of the xxh3-64 of the stored bytes

  bool operator==(const PatternRef&) const = default;
};

enum class Kind : std::uint8_t {
  write = 0,
  extent = 1,   ///< the array was cut to the box of the pattern: elements outside are fill values
  cleared = 2,  ///< the array was cut to nothing; no pattern
};

/// One operation on one dataset by one rank.
struct Entry {
  std::uint64_t dataset = 0;
  /// Entries of a dataset are ordered by epoch, then turn, then rank, then their order in the
  /// rank's sections. Each collective write and each flush raises the epoch, on all ranks alike.
  /// Turns order independent writes of one epoch, if one rank saw another rank's writes.
  std::uint64_t epoch = 0;
  std::uint32_t turn = 0;
  std::uint32_t rank = 0;
  Kind kind = Kind::write;
  Count base = 0;                 ///< of the pattern, in elements
  std::uint32_t pattern = 0;      ///< number in the section's table
  std::uint32_t file = 0;         ///< 0: the file itself; n: subfile n - 1
  Offset data = 0;                ///< position of the data in that file
  Count stored = 0;               ///< bytes of the data there
  std::uint64_t hash = 0;         ///< xxh3-64 of these bytes
  bool filtered = false;          ///< the bytes went through the dataset's filters
  std::uint32_t filter_mask = 0;  ///< filters that were not applied, as HDF5's filter mask
};

inline bool goes_before(const Entry& a, const Entry& b) {
  return std::tie(a.epoch, a.turn, a.rank) < std::tie(b.epoch, b.turn, b.rank);
}

/// What the techniques of Hou 2023, §6.2.3 saved, in bytes of selections (sums over writes).
struct Savings {
  std::uint64_t writes = 0;
  std::uint64_t blocks = 0;  ///< hyperslabs that the selections consist of
  std::uint64_t plain = 0;   ///< a start and a count for each dimension of each block
  std::uint64_t flat = 0;    ///< flattened: an offset and a length for each run
  std::uint64_t packed = 0;  ///< offsets and lengths stored apart, as differences, compressed
  std::uint64_t shared = 0;  ///< writes whose pattern was stored already
  std::uint64_t stored = 0;  ///< of patterns, each counted once

  Savings& operator+=(const Savings& other);
  bool operator==(const Savings&) const = default;
};

/// All of them, in the order in which they are stored.
inline constexpr std::uint64_t Savings::*savings_numbers[] = {
    &Savings::writes, &Savings::blocks, &Savings::plain, &Savings::flat,
    &Savings::packed, &Savings::shared, &Savings::stored};

struct Section {
  std::uint32_t rank = 0;
  Savings savings;
  std::vector<PatternRef> patterns;
  std::vector<Entry> entries;
};

// Printing and parsing do no I/O. Parsing throws only Errc::ebadlog.

/// Returns the bytes of a section. A pattern is either a reference to an earlier place (`bytes` of
/// local[i] is empty), or new bytes that the section then holds. Places of new patterns are counted
/// from the section's beginning and stored in section.patterns.
std::vector<std::byte> print_section(Section& section,
                                     const std::vector<std::vector<std::byte>>& local);
/// `place` is where the section lies. It makes the places of its patterns absolute.
Section parse_section(std::span<const std::byte> bytes, Offset place);

/// Where a section of a metadata block lies, relative to the block's beginning.
struct SectionPlace {
  Offset place = 0;
  Count bytes = 0;
};
struct Table {
  std::uint64_t epoch = 0;  ///< the highest in the block
  std::vector<SectionPlace> sections;
};
constexpr Count table_bytes(Count sections) { return 32 + 16 * sections; }
std::vector<std::byte> print_table(const Table& table);
/// Returns the number of sections in a block, from its first 32 bytes. Returns -1 if they are zero:
/// the flush of the block was not completed, and parse_table gives an empty table. `block` is the
/// size of the whole block.
Count sections_in(std::span<const std::byte> beginning, Count block);
Table parse_table(std::span<const std::byte> bytes, Count block);

}  // namespace forebay::logged
