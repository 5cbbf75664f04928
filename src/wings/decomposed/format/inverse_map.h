// Inverse maps: where the elements of an array lie in a slab, in the order of the array (Hou 2023,
// §6.4.2).
//
// A map says which elements each rank has, and a slab has them rank after rank. A reader of a
// hyperslab asks the other way round. An inverse map is the runs of all ranks together, in the
// order of the array, cut into pages of about equally many runs. A directory says what each page
// covers, so that a hyperslab needs few pages.
//
// Runs are factored as patterns are (array/pattern.h). A factor is the outer part of a pattern,
// before its runs: for instance the levels. As a rule all ranks' patterns have the same factor.
// Then their columns are in one list, once for all levels:
//
//     place of level l, column c, which is the i-th column of member m in a level
//         = elements of the members before m + l × elements of m in a level + i
//
// Runs of one factor do not overlap. If several ranks have an element, the last rank's run stays.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/pattern.h"
#include "base/types.h"

namespace forebay::decomposed {

/// Neighbouring elements that a member of a map has.
struct InverseRun {
  std::uint32_t factor = 0;
  std::uint32_t member = 0;  ///< of the map, counted from 0
  Offset offset = 0;         ///< like the offsets of a pattern's runs
  Count length = 0;
  Count position = 0;  ///< of the first, among the member's elements of one factor index

  Offset end() const { return offset + length; }
  bool operator==(const InverseRun&) const = default;
};

/// The beginning or end of a run. Runs are ordered by it.
struct InversePlace {
  std::uint32_t factor = 0;
  Offset offset = 0;

  auto operator<=>(const InversePlace&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct InversePage {
  InversePlace first, end;  ///< begin of its first run, and end of its last run
  Offset offset = 0;        ///< in the data file
  Count bytes = 0;
  std::uint32_t runs = 0;
  std::uint64_t hash = 0;  ///< of the page's bytes

  bool operator==(const InversePage&) const = default;
};

struct InverseDirectory {
  std::vector<Count> inner;                 ///< like Pattern::inner
  std::vector<std::vector<Steps>> factors;  ///< like Pattern::outer
  bool disjoint = false;                    ///< there is one factor, and no element occurs twice
  std::vector<InversePage> pages;           ///< in order
};

/// Limits: runs of a page, and bytes of a directory.
constexpr std::uint32_t most_page_runs = 1 << 22;
constexpr Count most_directory = 64 << 20;

std::vector<std::byte> print_inverse_directory(const InverseDirectory& directory);
/// Errc::enotnc if the bytes are not a directory of a file of `file_size` bytes.
InverseDirectory parse_inverse_directory(std::span<const std::byte> bytes, Offset file_size);

std::vector<std::byte> print_inverse_page(std::span<const InverseRun> runs);
/// Errc::enotnc if it is not the page that `page` describes. A printed page has at most
/// `most_printed(runs)` bytes.
std::vector<InverseRun> parse_inverse_page(std::span<const std::byte> bytes,
                                           const InversePage& page);
constexpr Count most_printed(Count runs) { return 5 * 10 * runs; }
/// Bytes that packing adds when the data cannot be compressed.
constexpr Count packed_overhead = 10;

}  // namespace forebay::decomposed
