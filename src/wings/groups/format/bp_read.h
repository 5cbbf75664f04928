// Parses BP4 (groups/format/bp.h): heads, records of md.idx, entries of md.0, from any program and
// in any byte order. Entries of BP3's index (groups/format/bp3_read.h) differ only in what Form
// says.
//
// The bytes may be hostile: every length is checked against the bytes that exist before it is used
// and before memory is allocated. Errc::ebad_file for bytes that make no sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "groups/format/bp.h"

namespace forebay::bp {

/// Returns whether numbers have another byte order than this machine. Errc::ebad_file: not the head
/// of a BP file; Errc::enotsupport: the head of another version.
bool parse_head(std::span<const std::byte> head);
StepRecord parse_record(std::span<const std::byte, record_bytes> record, bool swapped);

/// Parses the head of a step's index of variables or attributes. Returns the size of the entries
/// that follow. `elements` has elements_head_bytes.
Count parse_elements_head(std::span<const std::byte> elements, bool swapped);
/// Returns the number of entries of variables or attributes. Some BP3 files have a wrong size here.
std::uint32_t parse_elements(std::span<const std::byte> head, bool swapped);
/// Returns the size of an entry, its length field included, from its first 4 bytes.
Count parse_entry_bytes(std::span<const std::byte> first, bool swapped);
/// The head of a block inside an entry, and the size of the whole block, from its head.
inline constexpr Count block_head_bytes = 1 + 4;
Count parse_block_bytes(std::span<const std::byte> first, bool swapped);
/// Returns the size of a group's entry, its length field included, from its first 2 bytes.
Count parse_group_bytes(std::span<const std::byte> first, bool swapped);
/// Parses the entry at the position of `from` (groups/format/bp_cursor.h). Leaves the cursor behind
/// the known fields of the entry.
class Cursor;
Group parse_group(Cursor& from);
/// Returns whether the groups of a step are column-major, from the first bytes of their index.
bool parse_column_major(std::span<const std::byte> groups, bool swapped);
/// Enough bytes for parse_column_major in any file.
inline constexpr Count column_major_bytes = groups_head_bytes + 2 + 2 + 65536 + 1;

/// How to read the numbers and names of an index.
struct Origin {
  bool swapped = false;  ///< the index has another byte order than this machine
  bool column_major = false;
  Form form = Form::bp4;
};

/// Reads a variable's entry of md.0 once, from front to back: its head, then block by block.
class VariableEntry {
 public:
  /// `entry` holds at least the head, and must outlive this object. The dimensions of column-major
  /// blocks are reversed, so that the last one varies fastest.
  VariableEntry(std::span<const std::byte> entry, Origin origin);
  /// The same for blocks without a head, of a known variable.
  VariableEntry(Variable variable, std::span<const std::byte> blocks, Origin origin);

  /// A transform of ADIOS 1 hides the type. The right type is known after the first block.
  const Variable& variable() const { return variable_; }
  const std::string& group() const { return group_; }
  std::uint32_t member() const { return member_; }  ///< its number in the group
  /// Bytes of the entry that were read so far.
  std::size_t at() const { return at_; }

  /// Reads the next block. Returns false behind the last one. The entry's end decides, as in
  /// adios2, whatever number of blocks the head names. Shapes are valid by the rules of
  /// groups/format/bp.h, and strings are single ones. Places are not compared with any file.
  bool next(Block& block);

 private:
  void parse_characteristics(std::span<const std::byte> bytes, Block& block);
  void check(Block& block) const;

  std::span<const std::byte> entry_;
  Origin origin_;
  std::size_t at_ = 0;
  Variable variable_;
  std::string group_;
  std::uint32_t member_ = 0;
};

/// An upper bound for the head and the first block of an entry.
inline constexpr Count longest_first_block = 512 << 10;

struct AttributeEntry {
  Attribute attribute;
  std::string group;
  /// If set, the attribute has the value of this member of the group, and none of its own.
  std::optional<std::uint32_t> variable;
};
AttributeEntry parse_attribute(std::span<const std::byte> entry, Origin origin);

/// Swaps the bytes of each number or complex number, in place.
void swap_values(Type type, std::span<std::byte> values);

}  // namespace forebay::bp
