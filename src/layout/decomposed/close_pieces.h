// Reading small pieces that lie close together. As extents each would be made, kept and taken apart
// by itself, which takes several times as long as to copy the few elements that it has; here what
// they lie in is read, and each is taken from there.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/types.h"
#include "layout/decomposed/pieces.h"

namespace forebay::decomposed {

struct ClosePieces {
  std::span<const Piece> pieces;  ///< by place; those of a turn have all levels before the next one
  Levels levels;
  Offset begin;  ///< places count `unit` bytes from here on
  Count unit;
  std::byte* memory;  ///< where the selection's elements go, one behind the other
  int width;          ///< bytes of an element
  bool swapped;       ///< they come in native order

  /// Whether they are small, and close: far fewer bytes than a call is worth from one to the next.
  bool are_close() const;
};

/// Reads all of them. What lies in between is read along up to `hole_threshold`; a call has `most`
/// bytes, or one piece.
void read_close(const std::function<void(Offset, std::span<std::byte>)>& read,
                const ClosePieces& what, Count hole_threshold, Count most = 512 << 10);

}  // namespace forebay::decomposed
