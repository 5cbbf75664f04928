// Pieces: where the elements that a read asks for lie, and which of several counts where they were
// written more than once.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace forebay::decomposed {

/// When something was written: what is later stays (D7 §7.4).
struct Turn {
  std::uint64_t epoch = 0;
  std::uint32_t rank = 0, order = 0;

  auto operator<=>(const Turn&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Neighbouring elements, of the selection that is read and of a data file.
struct Piece {
  Count target = 0, count = 0;  ///< elements of the selection, in its order
  Offset place = 0;             ///< byte of the file
  std::uint32_t file = 0;
  Turn turn;
  Count step = 0;  ///< bytes from one level to the next, where there are several

  Count end() const { return target + count; }
  bool operator==(const Piece&) const = default;
};

/// Pieces of one index of a selection's leading dimension, a level, may stand for several: in each
/// the same elements lie so much further on in the selection, and each piece's so much further on
/// in its file.
struct Levels {
  Count count = 1;
  Count first = 0;  ///< of the selection: the one that pieces tell of
  Count step = 0;   ///< elements of the selection

  bool operator==(const Levels&) const = default;
};

/// Sorts by target. Of pieces that have elements in common the latest keeps them; `width` bytes are
/// an element. Takes a pass where nothing overlaps and all is in order, else O(n log n).
void resolve(std::vector<Piece>& pieces, Count width);

/// The elements of pieces that do not overlap.
Count elements_of(const std::vector<Piece>& pieces);

}  // namespace forebay::decomposed
