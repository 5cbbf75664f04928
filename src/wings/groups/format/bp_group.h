// Parses the process groups of data.K (groups/format/bp.h) that GroupImage and append_filler print,
// in this machine's byte order. A file that has lost its index gets a new one from them.
//
// The bytes may be hostile: every length is checked against the bytes that exist. Errc::ebad_file
// for bytes that are not a group or make no sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "groups/format/bp.h"

namespace forebay::bp {

/// What comes before the blocks of a group.
struct GroupHead {
  Count bytes = 0;  ///< size of the whole group
  std::string name;
  bool column_major = false;
  std::uint32_t step = 0;
  std::optional<GroupMark> mark;  ///< none: a filler, or another program's group
  std::uint32_t blocks = 0;
  Offset first_block = 0;  ///< counted from the beginning of the group
  Offset attributes = 0;   ///< likewise; u32 number, u64 bytes, then the attributes
};

/// A block, and the distance to the next one. The lists of its shape have equal lengths, as in the
/// file. A local value is in `block`; a scalar's value is in the payload.
struct GroupBlock {
  Variable variable;
  std::uint32_t member = 0;
  Block block;
  Offset payload = 0;  ///< counted from the beginning of the block
  Count bytes = 0;     ///< size of the whole block
};

struct GroupAttribute {
  Attribute attribute;
  std::uint32_t member = 0;
};

/// Enough bytes for any head of a group or block, and for an attribute up to its values.
inline constexpr Count longest_head = 256 << 10;
inline constexpr Count attributes_head_bytes = 12;  ///< before the attributes of a group
inline constexpr Count group_end_bytes = 4;

/// `bytes` holds as many bytes as there are, up to longest_head.
GroupHead parse_group_head(std::span<const std::byte> bytes);
GroupBlock parse_group_block(std::span<const std::byte> bytes);
bool ends_group(std::span<const std::byte> last);

/// Returns the size of an attribute, from its first 8 bytes.
Count parse_group_attribute_bytes(std::span<const std::byte> first);
GroupAttribute parse_group_attribute(std::span<const std::byte> bytes);

}  // namespace forebay::bp
