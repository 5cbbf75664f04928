// Reads small pieces that lie close together. Making an extent for each would take several times as
// long as copying its few elements. So the range around them is read, and each is copied from it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/types.h"
#include "decomposed/pieces.h"

namespace forebay::decomposed {

struct ClosePieces {
  std::span<const Piece> pieces;  ///< by place; a turn's come together, level by level
  Levels levels;
  Offset begin;  ///< places count in units of `unit` bytes from here on
  Count unit;
  std::byte* memory;  ///< where the selection's elements go, contiguously
  int width;          ///< bytes of an element
  bool swapped;       ///< the elements become native

  /// Returns whether the pieces are small and close: their distance costs far less than a call.
  bool are_close() const;
};

/// Reads all pieces. Holes of up to `hole_threshold` bytes are read along. A call reads at most
/// `most` bytes, or one piece.
void read_close(const std::function<void(Offset, std::span<std::byte>)>& read,
                const ClosePieces& what, Count hole_threshold, Count most = 512 << 10);

}  // namespace forebay::decomposed
