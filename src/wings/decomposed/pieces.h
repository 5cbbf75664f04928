// Pieces: where the elements of a read lie. If elements were written more than once, the latest
// pieces remain.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace forebay::decomposed {

/// When something was written. The latest write of an element stays (Hou 2023, §7.4).
struct Turn {
  std::uint64_t epoch = 0;
  std::uint32_t rank = 0, order = 0;

  auto operator<=>(const Turn&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Elements that are neighbours in the selection and in a data file.
struct Piece {
  Count target = 0, count = 0;  ///< elements of the selection, in its order
  Offset place = 0;             ///< byte of the file
  std::uint32_t file = 0;
  Turn turn;
  Count step = 0;  ///< bytes from one level to the next, if there are several

  Count end() const { return target + count; }
  bool operator==(const Piece&) const = default;
};

/// One index of a selection's leading dimension is a level. Pieces of one level may stand for
/// several: in each next level the elements lie `step` further on in the selection, and each piece
/// lies Piece::step further on in its file.
struct Levels {
  Count count = 1;
  Count first = 0;  ///< in the selection: the level of the pieces
  Count step = 0;   ///< in elements of the selection

  bool operator==(const Levels&) const = default;
};

/// Sorts pieces by target. If pieces share elements, the latest piece keeps them. An element has
/// `width` bytes. Takes one pass if pieces are sorted and do not overlap, else O(n log n).
void resolve(std::vector<Piece>& pieces, Count width);

/// Returns the number of elements of pieces that do not overlap.
Count elements_of(const std::vector<Piece>& pieces);

}  // namespace forebay::decomposed
