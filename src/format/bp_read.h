// Parsing BP4 (format/bp.h): heads, records of md.idx, entries of md.0, of whichever program and
// byte order.
//
// The bytes may be hostile: every length is checked against what is there before it is used, and
// before memory is taken. What makes no sense throws Errc::ebad_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "format/bp.h"

namespace forebay::bp {

/// Whether numbers have the other byte order than this machine. Errc::ebad_file: no head of a BP
/// file; Errc::enotsupport: one of another version.
bool parse_head(std::span<const std::byte> head);
StepRecord parse_record(std::span<const std::byte, record_bytes> record, bool swapped);

/// The head of the index of a step's variables or attributes: bytes of the entries that follow.
/// `elements` are elements_head_bytes.
Count parse_elements_head(std::span<const std::byte> elements, bool swapped);
/// Bytes of an entry, with its length, whose first 4 bytes these are.
Count parse_entry_bytes(std::span<const std::byte> first, bool swapped);
/// Whether the groups of a step are column-major: of the first bytes of the index of groups.
bool parse_column_major(std::span<const std::byte> groups, bool swapped);
/// As many bytes hold that of any file.
inline constexpr Count column_major_bytes = groups_head_bytes + 2 + 2 + 65536 + 1;

/// One way through a variable's entry of md.0: its head, then block by block.
class VariableEntry {
 public:
  /// `entry` holds the head at least; it outlives this. Dimensions of blocks are turned round where
  /// `column_major`, so that the last one varies fastest.
  VariableEntry(std::span<const std::byte> entry, bool swapped, bool column_major);

  const Variable& variable() const { return variable_; }
  /// Bytes of the entry that were read so far.
  std::size_t at() const { return at_; }

  /// False behind the last block: where the entry ends, as for adios2, whatever number it says.
  /// Shapes make sense as format/bp.h has them, and strings are single ones. Places are not
  /// compared with any file.
  bool next(Block& block);

 private:
  void parse_characteristics(std::span<const std::byte> bytes, Block& block);

  std::span<const std::byte> entry_;
  bool swapped_, column_major_;
  std::size_t at_ = 0;
  Variable variable_;
};

/// No head and no first block is longer.
inline constexpr Count longest_first_block = 512 << 10;

Attribute parse_attribute(std::span<const std::byte> entry, bool swapped);

/// In place: elements of numbers and complex numbers in the other byte order.
void swap_values(Type type, std::span<std::byte> values);

}  // namespace forebay::bp
