#include "decomposed/close_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace forebay::decomposed {
namespace close_pieces_test {

/// Two turns of `columns` pieces each, repeated for `levels` levels, with holes between pieces. The
/// selection has them in another order.
struct Field {
  Field(std::mt19937& random, int width, Count levels, Offset begin) {
    std::vector<Count> targets;
    Offset place = begin;
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      const std::size_t first = pieces.size();
      Offset at = place;
      for (int i = 0; i < 40; ++i) {
        at += static_cast<Count>(random() % 4) * width;
        const Count count = 1 + static_cast<Count>(random() % 3);
        pieces.push_back({0, count, at, 0, {1, turn, 0}, 0});
        at += count * width;
      }
      for (std::size_t i = first; i < pieces.size(); ++i) pieces[i].step = at - place;
      place += levels * (at - place) + 700;
    }
    end = place;
    std::vector<std::size_t> order(pieces.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      pieces[i].target = elements;
      elements += pieces[i].count;
    }
    its = {levels, 0, elements};
    file.resize(static_cast<std::size_t>(end));
    for (std::byte& b : file) b = static_cast<std::byte>(random());
  }

  std::vector<std::byte> expected(int width, bool swapped) const {
    std::vector<std::byte> values(static_cast<std::size_t>(its.count * elements * width));
    for (Count level = 0; level < its.count; ++level)
      for (const Piece& p : pieces)
        for (Count k = 0; k < p.count; ++k) {
          const auto* from = file.data() + p.place + level * p.step + k * width;
          auto* to = values.data() + (level * its.step + p.target + k) * width;
          swapped ? std::reverse_copy(from, from + width, to) : std::copy(from, from + width, to);
        }
    return values;
  }

  std::vector<Piece> pieces;
  Levels its;
  Count elements = 0;
  Offset end = 0;
  std::vector<std::byte> file;
};

TEST(ClosePieces, are_read_as_each_by_itself_would_be) {
  std::mt19937 random(3);
  for (const int width : {1, 2, 4, 8})
    for (const bool swapped : {false, true})
      for (const Count levels : {1, 5})
        for (const Count most : {1, 300, 1 << 20})
          for (const Count hole : {0, 8, 4096}) {
            const Field field(random, width, levels, 64);
            std::vector<std::byte> values(
                static_cast<std::size_t>(levels * field.elements * width));
            int calls = 0;
            const ClosePieces what{field.pieces, field.its, 0, 1, values.data(), width, swapped};
            EXPECT_TRUE(what.are_close());
            read_close(
                [&](Offset offset, std::span<std::byte> into) {
                  ++calls;
                  // A call reads at most what was allowed, or one piece.
                  EXPECT_LE(std::ssize(into), std::max<Count>(most, Count{3} * width));
                  std::copy_n(field.file.begin() + offset, into.size(), into.begin());
                },
                what, hole, most);
            EXPECT_EQ(values, field.expected(width, swapped && width > 1));
            if (most == 1) {
              EXPECT_EQ(calls, levels * std::ssize(field.pieces));
            }
            if (most == 1 << 20 && hole == 4096) {
              EXPECT_EQ(calls, 1);
            }
          }
}

// As in a plan, places count elements of a slab. The next turn's places may be lower.
TEST(ClosePieces, places_count_units_and_may_go_back) {
  std::vector<std::byte> file(400), values(12);
  for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::byte>(i);
  const std::vector<Piece> pieces = {{0, 1, 50, 0, {1, 0, 0}, 0}, {1, 2, 10, 0, {1, 1, 0}, 0}};
  const ClosePieces what{pieces, {}, 20, 4, values.data(), 4, false};
  EXPECT_FALSE(what.are_close());  // two pieces only
  read_close(
      [&](Offset offset, std::span<std::byte> into) {
        std::copy_n(file.begin() + offset, into.size(), into.begin());
      },
      what, 1 << 20);
  EXPECT_EQ(values[0], static_cast<std::byte>(220));
  EXPECT_EQ(values[4], static_cast<std::byte>(60));
  EXPECT_EQ(values[11], static_cast<std::byte>(67));
}

TEST(ClosePieces, are_neither_large_nor_far_from_each_other) {
  std::vector<Piece> pieces;
  for (Count i = 0; i < 100; ++i) pieces.push_back({i, 1, i * 256, 0, {}, 0});
  ClosePieces what{pieces, {}, 0, 4, nullptr, 4, false};
  EXPECT_TRUE(what.are_close());
  what.unit = 8;  // 2 KiB between pieces
  EXPECT_FALSE(what.are_close());
  for (Piece& piece : pieces) piece.count = 40;
  what.unit = 4;
  EXPECT_FALSE(what.are_close());
}

}  // namespace close_pieces_test
}  // namespace forebay::decomposed
