// The metadata of the log layout (D6 §6.2.2, §6.2.3): sections of entries, and the patterns that
// they name. docs/formats.md has the grammar.
//
//     metadata block   table | section of rank 0 | section of rank 1 | …
//     section          header | pattern table | entries | patterns
//
// A section holds what one rank wrote between two flushes and is decoded alone. An entry names its
// pattern by a number in the section's table; the table says where the pattern lies: in this
// section or, where the same selection was written before a flush, in an earlier one. Fixed-width
// numbers are big-endian, which the header says; the others are variable-length integers. Every
// part carries its xxh3-64 (patterns: the low half).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"

namespace forebay::logged {

constexpr std::uint16_t version = 1;
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
  /// Entries of a dataset follow each other by epoch, then turn, then rank, then their order in the
  /// rank's sections. Epochs rise with each collective write and flush, alike on all ranks; turns
  /// order independent writes between these, of which one rank saw another's.
  std::uint64_t epoch = 0;
  std::uint32_t turn = 0;
  std::uint32_t rank = 0;
  Kind kind = Kind::write;
  Count base = 0;                 ///< of the pattern
  std::uint32_t pattern = 0;      ///< number in the section's table
  std::uint32_t file = 0;         ///< 0: the file itself; n: subfile n - 1
  Offset data = 0;                ///< position of the data in that file
  Count stored = 0;               ///< bytes of the data there
  std::uint64_t hash = 0;         ///< xxh3-64 of these bytes
  bool filtered = false;          ///< they went through the dataset's filters
  std::uint32_t filter_mask = 0;  ///< filters that were not applied, as HDF5's filter mask
};

inline bool goes_before(const Entry& a, const Entry& b) {
  return std::tie(a.epoch, a.turn, a.rank) < std::tie(b.epoch, b.turn, b.rank);
}

/// What the techniques of D6 §6.2.3 saved, in bytes of selections (sums over writes).
struct Savings {
  std::uint64_t writes = 0;
  std::uint64_t blocks = 0;  ///< hyperslabs that the selections consist of
  std::uint64_t plain = 0;   ///< a start and a count for each dimension of each block
  std::uint64_t flat = 0;    ///< flattened: an offset and a length for each run
  std::uint64_t packed = 0;  ///< offsets and lengths apart, as differences, compressed
  std::uint64_t shared = 0;  ///< writes whose pattern was there already
  std::uint64_t stored = 0;  ///< of patterns, once each

  Savings& operator+=(const Savings& other);
  bool operator==(const Savings&) const = default;
};

struct Section {
  std::uint32_t rank = 0;
  Savings savings;
  std::vector<PatternRef> patterns;
  std::vector<Entry> entries;
};

// -- printing and parsing: no I/O; parsing throws nothing but Errc::ebadlog
// -------------------------

/// A pattern's bytes, not compressed.
std::vector<std::byte> print_pattern(const Pattern& pattern);
/// Errc::ebadlog for anything that print_pattern does not make.
Pattern parse_pattern(std::span<const std::byte> bytes);

std::uint32_t check_of(std::span<const std::byte> bytes);

/// The bytes of a section whose patterns are: for each either a reference to an earlier place
/// (`bytes` of local[i] empty), or new bytes, which the section then holds. Places of new patterns
/// are counted from the section's beginning and put into section.patterns.
std::vector<std::byte> print_section(Section& section,
                                     const std::vector<std::vector<std::byte>>& local);
/// `place`: where the section lies, which makes the places of its patterns absolute.
Section parse_section(std::span<const std::byte> bytes, Offset place);

/// Where the sections of a metadata block are, relative to its beginning.
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
/// The number of sections in a block, from its first 32 bytes; -1 if they are zero: its flush did
/// not come to its end, and parse_table gives an empty table. `block` is the block's whole size.
Count sections_in(std::span<const std::byte> beginning, Count block);
Table parse_table(std::span<const std::byte> bytes, Count block);

}  // namespace forebay::logged
