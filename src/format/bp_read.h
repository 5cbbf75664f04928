// Parsing BP4 (format/bp.h): heads, records of md.idx, entries of md.0, of whichever program and
// byte order. Entries of BP3's index (format/bp3_read.h) are the same, but for what Form tells.
//
// The bytes may be hostile: every length is checked against what is there before it is used, and
// before memory is taken. What makes no sense throws Errc::ebad_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
/// The number of entries of variables, or attributes; what the head says of their bytes is not
/// right in all files of BP3.
std::uint32_t parse_elements(std::span<const std::byte> head, bool swapped);
/// Bytes of an entry, with its length, whose first 4 bytes these are.
Count parse_entry_bytes(std::span<const std::byte> first, bool swapped);
/// Of a block among an entry's, whose first block_head_bytes these are: its bytes with these.
inline constexpr Count block_head_bytes = 1 + 4;
Count parse_block_bytes(std::span<const std::byte> first, bool swapped);
/// Bytes of a group's entry, with its length, whose first 2 bytes these are.
Count parse_group_bytes(std::span<const std::byte> first, bool swapped);
/// The entry that `from` (format/bp_cursor.h) stands at; it stands behind what is known of one
/// then.
class Cursor;
Group parse_group(Cursor& from);
/// Whether the groups of a step are column-major: of the first bytes of the index of groups.
bool parse_column_major(std::span<const std::byte> groups, bool swapped);
/// As many bytes hold that of any file.
inline constexpr Count column_major_bytes = groups_head_bytes + 2 + 2 + 65536 + 1;

/// How the numbers and names of an index are to be taken.
struct Origin {
  bool swapped = false;  ///< it has the other byte order than this machine
  bool column_major = false;
  Form form = Form::bp4;
};

/// One way through a variable's entry of md.0: its head, then block by block.
class VariableEntry {
 public:
  /// `entry` holds the head at least; it outlives this. Dimensions of blocks are turned round where
  /// they are column-major, so that the last one varies fastest.
  VariableEntry(std::span<const std::byte> entry, Origin origin);
  /// The same of blocks without a head, of a variable that is known.
  VariableEntry(Variable variable, std::span<const std::byte> blocks, Origin origin);

  /// With the type that a transform of ADIOS 1 hides, once a block has been told.
  const Variable& variable() const { return variable_; }
  const std::string& group() const { return group_; }
  std::uint32_t member() const { return member_; }  ///< its number in the group
  /// Bytes of the entry that were read so far.
  std::size_t at() const { return at_; }

  /// False behind the last block: where the entry ends, as for adios2, whatever number it says.
  /// Shapes make sense as format/bp.h has them, and strings are single ones. Places are not
  /// compared with any file.
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

/// No head and no first block is longer.
inline constexpr Count longest_first_block = 512 << 10;

struct AttributeEntry {
  Attribute attribute;
  std::string group;
  /// The attribute has the value of this member of the group, and none of its own.
  std::optional<std::uint32_t> variable;
};
AttributeEntry parse_attribute(std::span<const std::byte> entry, Origin origin);

/// In place: elements of numbers and complex numbers in the other byte order.
void swap_values(Type type, std::span<std::byte> values);

}  // namespace forebay::bp
