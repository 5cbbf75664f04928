// Inverse maps: where in a slab the elements of an array lie, in the order of the array (D6
// §6.4.2).
//
// A map tells of each rank which elements it has, and a slab has them rank after rank. Who wants a
// hyperslab asks the other way round. An inverse map is the ranks' runs together, in the order of
// the array, cut into pages of about as many runs; a directory tells what each page is about, so
// that a hyperslab needs few of them.
//
// Runs are factored as patterns are (array/pattern.h). A factor is what is before a pattern's runs:
// levels, say. Ranks whose patterns have the same one, which is all of them as a rule, have their
// columns in one list, once for all levels:
//
//     place of level l, column c, which is the i-th of member m's in a level
//         = elements of the members before m + l × elements of m in a level + i
//
// Runs of one factor do not overlap: of what several ranks have the last one's stays.
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
  std::uint32_t member = 0;  ///< of the map, from 0 on
  Offset offset = 0;         ///< as those of a pattern's runs
  Count length = 0;
  Count position = 0;  ///< which of the member's elements of one index of the factor the first is

  Offset end() const { return offset + length; }
  bool operator==(const InverseRun&) const = default;
};

/// Where a run begins or ends: the order of runs.
struct InversePlace {
  std::uint32_t factor = 0;
  Offset offset = 0;

  auto operator<=>(const InversePlace&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct InversePage {
  InversePlace first, end;  ///< of its first run, and of its last one
  Offset offset = 0;        ///< in the data file
  Count bytes = 0;
  std::uint32_t runs = 0;
  std::uint64_t hash = 0;  ///< of its bytes

  bool operator==(const InversePage&) const = default;
};

struct InverseDirectory {
  std::vector<Count> inner;                 ///< as patterns have it
  std::vector<std::vector<Steps>> factors;  ///< Pattern::outer
  bool disjoint = false;                    ///< there is one factor, and no element is there twice
  std::vector<InversePage> pages;           ///< in order
};

/// Pages have at most so many runs.
constexpr std::uint32_t most_page_runs = 1 << 22;

std::vector<std::byte> print_inverse_directory(const InverseDirectory& directory);
/// Errc::enotnc where that is none of a file of `file_size` bytes.
InverseDirectory parse_inverse_directory(std::span<const std::byte> bytes, Offset file_size);

std::vector<std::byte> print_inverse_page(std::span<const InverseRun> runs);
/// Errc::enotnc where that is not the page of which the directory tells. Bytes that were printed
/// are at most `most_printed(runs)`.
std::vector<InverseRun> parse_inverse_page(std::span<const std::byte> bytes,
                                           const InversePage& page);
constexpr Count most_printed(Count runs) { return 5 * 10 * runs; }
/// What packing adds to bytes that it cannot make fewer.
constexpr Count packed_overhead = 10;

}  // namespace forebay::decomposed
