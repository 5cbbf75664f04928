// Parsing BP3, one file of process groups with an index at its end (A §III.D): what ADIOS 1 writes,
// and adios2's engine BP3.
//
//     NAME              process groups, then of all of them: index of groups, of variables, of
//                       attributes, and the footer
//     NAME.dir/NAME.K   with subfiles: process groups; NAME has the index alone
//
// A variable has one entry for all steps; each of its blocks tells its step, the time index.
//
// As format/bp_read.h: the bytes may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/bp_read.h"

namespace forebay::bp {

inline constexpr Count footer_bytes = 28;
/// What comes before it: the name of the program, of files that have it.
inline constexpr Count footer_tag_bytes = 28;

struct Footer {
  bool swapped = false;
  bool subfiles = false;
  Offset groups = 0, variables = 0, attributes = 0, end = 0;  ///< of the parts of the index
};

/// The last bytes of a file of so many. Errc::ebad_file: it is none; Errc::enotsupport: one of
/// another version.
Footer parse_footer(std::span<const std::byte, footer_bytes> footer, Count file_bytes);

/// Whether adios2 wrote the file; else it was ADIOS 1.
bool is_tag_of_adios2(std::span<const std::byte, footer_tag_bytes> tag);

/// The number of entries of groups, whose head is groups_head_bytes.
std::uint64_t parse_groups_head(std::span<const std::byte> head, bool swapped);

}  // namespace forebay::bp
