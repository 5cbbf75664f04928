#include "decomposed/pieces.h"

#include <algorithm>
#include <queue>

namespace forebay::decomposed {
namespace {

/// Appends a piece, or extends the last one.
void append(std::vector<Piece>& pieces, const Piece& piece, Count width) {
  if (!pieces.empty()) {
    Piece& last = pieces.back();
    if (last.end() == piece.target && last.file == piece.file && last.turn == piece.turn &&
        last.place + last.count * width == piece.place) {
      last.count += piece.count;
      return;
    }
  }
  pieces.push_back(piece);
}

}  // namespace

// Sweeps over the selection. `open` has the pieces that have begun, the latest at the top. Pieces
// that have ended are removed when they come to the top.
void resolve(std::vector<Piece>& pieces, Count width) {
  const auto before = [](const Piece& a, const Piece& b) { return a.target < b.target; };
  if (!std::is_sorted(pieces.begin(), pieces.end(), before))
    std::sort(pieces.begin(), pieces.end(), before);
  const auto overlap =
      std::adjacent_find(pieces.begin(), pieces.end(),
                         [](const Piece& a, const Piece& b) { return a.end() > b.target; });
  if (overlap == pieces.end()) return;

  const auto earlier = [](const Piece& a, const Piece& b) { return a.turn < b.turn; };
  std::priority_queue<Piece, std::vector<Piece>, decltype(earlier)> open(earlier);
  std::vector<Piece> kept;
  Count at = 0;
  for (std::size_t next = 0; next < pieces.size() || !open.empty();) {
    if (open.empty()) at = std::max(at, pieces[next].target);
    while (next < pieces.size() && pieces[next].target <= at) open.push(pieces[next++]);
    const Piece top = open.top();
    if (top.end() <= at) {
      open.pop();
      continue;
    }
    // A piece that begins before the end may be later.
    Count end = top.end();
    if (next < pieces.size()) end = std::min(end, pieces[next].target);
    Piece part = top;
    part.target = at;
    part.count = end - at;
    part.place += (at - top.target) * width;
    append(kept, part, width);
    at = end;
  }
  pieces = std::move(kept);
}

Count elements_of(const std::vector<Piece>& pieces) {
  Count sum = 0;
  for (const Piece& piece : pieces) sum += piece.count;
  return sum;
}

}  // namespace forebay::decomposed
