#include "decomposed/pieces.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay::decomposed {
namespace pieces_test {

TEST(Pieces, what_does_not_overlap_is_sorted_and_stays) {
  std::vector<Piece> pieces = {{5, 3, 100, 0, {1, 0, 0}}, {0, 5, 40, 1, {1, 1, 0}}};
  resolve(pieces, 4);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].target, 0);
  EXPECT_EQ(elements_of(pieces), 8);
}

// Compares with an array that is written in turn: epoch counts before rank, and rank before order.
TEST(Pieces, the_latest_turn_keeps_each_element) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    constexpr Count n = 40, width = 2;
    std::vector<Piece> pieces;
    for (std::uint32_t i = 0; i < 12; ++i) {
      const Count from = random() % n, count = 1 + random() % (n - from);
      pieces.push_back({from,
                        count,
                        static_cast<Offset>(1000 * i),
                        i % 3,
                        {random() % 3, static_cast<std::uint32_t>(random() % 2), i}});
    }
    std::vector<Offset> place(n, -1);
    auto in_turn = pieces;
    std::sort(in_turn.begin(), in_turn.end(),
              [](const Piece& a, const Piece& b) { return a.turn < b.turn; });
    for (const Piece& p : in_turn)
      for (Count i = 0; i < p.count; ++i)
        place[static_cast<std::size_t>(p.target + i)] = p.place + i * width;
    resolve(pieces, width);
    Count end = 0;
    std::vector<Offset> found(n, -1);
    for (const Piece& p : pieces) {
      EXPECT_GE(p.target, end);
      end = p.end();
      for (Count i = 0; i < p.count; ++i)
        found[static_cast<std::size_t>(p.target + i)] = p.place + i * width;
    }
    ASSERT_EQ(found, place) << round;
  }
}

}  // namespace pieces_test
}  // namespace forebay::decomposed
