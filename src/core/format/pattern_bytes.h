// How patterns of selections are stored (Hou 2023, §6.2.2): offsets and lengths as differences, in
// numbers of variable length. docs/formats.md has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/pattern.h"

namespace forebay::logged {

/// Returns a pattern's bytes, not compressed.
std::vector<std::byte> print_pattern(const Pattern& pattern);
/// Errc::ebadlog for anything that print_pattern does not make.
Pattern parse_pattern(std::span<const std::byte> bytes);

/// Returns the low half of the xxh3-64, which stands beside stored patterns.
std::uint32_t check_of(std::span<const std::byte> bytes);

}  // namespace forebay::logged
