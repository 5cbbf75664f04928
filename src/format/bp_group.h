// Parsing the process groups of data.K (format/bp.h), as GroupImage and append_filler print them,
// in this machine's byte order: what the index of a file is made of again that has lost it.
//
// The bytes may be hostile: every length is checked against what is there. What is no group, or
// makes no sense, throws Errc::ebad_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "format/bp.h"

namespace forebay::bp {

/// What stands before a group's blocks.
struct GroupHead {
  Count bytes = 0;  ///< of all of it
  std::string name;
  bool column_major = false;
  std::uint32_t step = 0;
  std::optional<GroupMark> mark;  ///< none: it is a filler, or another program's
  std::uint32_t blocks = 0;
  Offset first_block = 0;  ///< counted from where the group begins, as is:
  Offset attributes = 0;   ///< where attributes follow: u32 number, u64 bytes
};

/// A block, and where the next one is. The lists of its shape have equal lengths, as they stand in
/// the file; a local value has it, a scalar's is in the payload.
struct GroupBlock {
  Variable variable;
  std::uint32_t member = 0;
  Block block;
  Offset payload = 0;  ///< from where the block begins
  Count bytes = 0;     ///< of all of it
};

struct GroupAttribute {
  Attribute attribute;
  std::uint32_t member = 0;
};

/// Bytes that hold any head, of a group or a block, and an attribute's up to its values.
inline constexpr Count longest_head = 256 << 10;
inline constexpr Count attributes_head_bytes = 12;  ///< of a group, before its attributes
inline constexpr Count group_end_bytes = 4;

/// `bytes`: as many as there are, up to longest_head.
GroupHead parse_group_head(std::span<const std::byte> bytes);
GroupBlock parse_group_block(std::span<const std::byte> bytes);
bool ends_group(std::span<const std::byte> last);

/// Bytes of an attribute whose first 8 these are.
Count parse_group_attribute_bytes(std::span<const std::byte> first);
GroupAttribute parse_group_attribute(std::span<const std::byte> bytes);

}  // namespace forebay::bp
