#include "decomposed/close_pieces.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/byteorder.h"

namespace forebay::decomposed {
namespace {

constexpr Count few = 16;         // pieces, too few to matter
constexpr Count small = 128;      // bytes of a piece, on average
constexpr Count close = 1 << 10;  // between pieces, on average

/// Pieces [first, last) of a level.
struct Row {
  std::size_t first, last;
  Count level;
};

class Window {
 public:
  Window(const ClosePieces& what, Count hole_threshold, Count most)
      : what_(what), hole_threshold_(hole_threshold), most_(most) {}

  Offset offset(const Piece& piece, Count level) const {
    return what_.begin + (piece.place + level * piece.step) * what_.unit;
  }
  /// Returns false if the window must be emptied first.
  bool add(std::size_t number, Count level) {
    const Piece& piece = what_.pieces[number];
    const Offset from = offset(piece, level), to = from + piece.count * what_.width;
    if (rows_.empty()) {
      start_ = end_ = from;
    } else if (from < start_ || from - end_ > hole_threshold_ || to - start_ > most_) {
      return false;
    }
    end_ = std::max(end_, to);
    if (!rows_.empty() && rows_.back().last == number && rows_.back().level == level)
      ++rows_.back().last;
    else
      rows_.push_back({number, number + 1, level});
    return true;
  }
  template <typename Read>
  void empty(Read&& read) {
    if (rows_.empty()) return;
    const auto bytes = static_cast<std::size_t>(end_ - start_);
    if (bytes > room_) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      room_ = bytes;
    }
    read(start_, std::span(buffer_.get(), bytes));
    switch (what_.width) {
      case 1:
        take<std::uint8_t>();
        break;
      case 2:
        take<std::uint16_t>();
        break;
      case 4:
        take<std::uint32_t>();
        break;
      default:
        take<std::uint64_t>();
    }
    rows_.clear();
  }

 private:
  template <typename Word>
  void take() const {
    if (what_.swapped && !native_is_big_endian)
      take_by<Word>([](Word word) { return byte_swapped(word); });
    else
      take_by<Word>([](Word word) { return word; });
  }
  template <typename Word, typename F>
  void take_by(F native) const {
    for (const Row& row : rows_) {
      const Count further = row.level * what_.levels.step;
      for (std::size_t i = row.first; i < row.last; ++i) {
        const Piece& piece = what_.pieces[i];
        const std::byte* from = buffer_.get() + (offset(piece, row.level) - start_);
        std::byte* to = what_.memory + (piece.target + further) * static_cast<Count>(sizeof(Word));
        for (Count k = 0; k < piece.count; ++k, from += sizeof(Word), to += sizeof(Word)) {
          Word word;
          std::memcpy(&word, from, sizeof word);
          word = native(word);
          std::memcpy(to, &word, sizeof word);
        }
      }
    }
  }

  const ClosePieces& what_;
  Count hole_threshold_, most_;
  std::vector<Row> rows_;
  Offset start_ = 0, end_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t room_ = 0;
};

}  // namespace

bool ClosePieces::are_close() const {
  const Count many = std::ssize(pieces) * levels.count;
  if (many < few) return false;
  Count elements = 0;
  for (const Piece& piece : pieces) elements += piece.count;
  const Piece &first = pieces.front(), &last = pieces.back();
  const Count span = (last.place + (levels.count - 1) * last.step - first.place) * unit;
  return elements * levels.count * width <= small * many && span <= close * many;
}

void read_close(const std::function<void(Offset, std::span<std::byte>)>& read,
                const ClosePieces& what, Count hole_threshold, Count most) {
  Window window(what, hole_threshold, most);
  const auto& pieces = what.pieces;
  for (std::size_t i = 0, end = 0; i < pieces.size(); i = end) {
    while (end < pieces.size() && pieces[end].turn == pieces[i].turn) ++end;
    for (Count level = 0; level < what.levels.count; ++level)
      for (std::size_t k = i; k < end; ++k)
        while (!window.add(k, level)) window.empty(read);
  }
  window.empty(read);
}

}  // namespace forebay::decomposed
