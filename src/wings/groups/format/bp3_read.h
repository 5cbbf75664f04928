// Parses BP3, one file of process groups with an index at its end (Lofstead et al. 2009, §III.D).
// ADIOS 1 and adios2's engine BP3 write it.
//
//     NAME              process groups, then of all of them: index of groups, of variables, of
//                       attributes, and the footer
//     NAME.dir/NAME.K   with subfiles: process groups; NAME has the index alone
//
// A variable has one entry for all steps. Each of its blocks has its step as the time index.
//
// The bytes may be hostile, as in groups/format/bp_read.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "groups/format/bp_read.h"

namespace forebay::bp {

inline constexpr Count footer_bytes = 28;
/// The tag before the footer: the name of the program, in files that have it.
inline constexpr Count footer_tag_bytes = 28;

struct Footer {
  bool swapped = false;
  bool subfiles = false;
  Offset groups = 0, variables = 0, attributes = 0, end = 0;  ///< of the parts of the index
};

/// Parses the footer, the last bytes of a file of `file_bytes` bytes. Errc::ebad_file: not a
/// footer; Errc::enotsupport: a footer of another version.
Footer parse_footer(std::span<const std::byte, footer_bytes> footer, Count file_bytes);

/// Returns whether adios2 wrote the file. Otherwise it was ADIOS 1.
bool is_tag_of_adios2(std::span<const std::byte, footer_tag_bytes> tag);

/// Returns the number of entries of groups. `head` has groups_head_bytes.
std::uint64_t parse_groups_head(std::span<const std::byte> head, bool swapped);

}  // namespace forebay::bp
