#include "transport/window_message.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay {
namespace window_message_test {

std::vector<std::pair<Count, Count>> told(std::span<const std::byte> message) {
  std::vector<std::pair<Count, Count>> runs;
  for_each_run(message, [&](Count from, Count bytes) { runs.emplace_back(from, from + bytes); });
  return runs;
}

TEST(WindowMessage, tells_every_run) {
  std::mt19937 random(5);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  int codings[2] = {0, 0};
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t unit = 1u << pick(0, 4), window = 1 << 16;
    const std::uint32_t gap = pick(1, round % 3 == 0 ? 3 : 300),
                        length = pick(1, round % 2 == 0 ? 4 : 300);
    std::vector<WindowRun> runs;
    std::vector<std::pair<Count, Count>> expected;
    for (std::uint32_t at = pick(0, 20) * unit;;) {
      const std::uint32_t to = at + pick(1, length) * unit;
      if (to > window) break;
      runs.push_back({at, to});
      expected.emplace_back(at, to);
      at = to + pick(1, gap) * unit;
    }
    const auto message = window_message(Count{1} << 40, runs, 77);
    EXPECT_EQ(told(message), expected) << "round " << round;
    EXPECT_EQ(head_of(message).window, Count{1} << 40);
    EXPECT_EQ(payload_of(std::span(message)).size(), 77u);
    EXPECT_LE(static_cast<Count>(message.size()) - 77, largest_message(window) - window);
    ++codings[head_of(message).coding];
  }
  EXPECT_GT(codings[0], 20);
  EXPECT_GT(codings[1], 20);
}

TEST(WindowMessage, tells_little_where_elements_alternate) {
  std::vector<WindowRun> runs;
  for (std::uint32_t at = 0; at < 1 << 20; at += 8) runs.push_back({at, at + 4});
  const auto message = window_message(3, runs, 0);
  EXPECT_LE(message.size(), (1u << 20) / 32 + sizeof(WindowHead));
  EXPECT_EQ(told(message).size(), runs.size());
}

// A map that distributes elements, or columns of some, to many nodes has such runs.
TEST(WindowMessage, tells_a_byte_a_piece_where_pieces_are_alike) {
  for (const std::uint32_t length : {4u, 12u}) {
    std::vector<WindowRun> runs;
    for (std::uint32_t at = 0; at < 1 << 20; at += 160) runs.push_back({at, at + length});
    const auto message = window_message(3, runs, 0);
    EXPECT_LE(message.size(), runs.size() + sizeof(WindowHead) + 1);
    EXPECT_EQ(told(message).size(), runs.size());
  }
}

TEST(WindowMessage, may_be_empty_or_whole) {
  EXPECT_TRUE(told(window_message(3, {}, 0)).empty());
  const WindowRun all{0, 1u << 30};
  const auto message = window_message(0, {&all, 1}, 0);
  EXPECT_EQ(told(message), (std::vector<std::pair<Count, Count>>{{0, 1 << 30}}));
  EXPECT_LT(message.size(), 40u);
}

}  // namespace window_message_test
}  // namespace forebay
