#include "decomposed/waiting.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/memory_file_testing.h"

namespace forebay::decomposed {
namespace waiting_test {

constexpr Count limit = 1000;

WaitingWrites make_waiting() {
  return {limit,
          [] { return std::make_unique<MemoryFile>("waiting", std::make_shared<MemoryDisk>()); }};
}

Request write_of(std::vector<std::uint8_t>& data, Subarray box) {
  Request r;
  r.var = 1;
  r.write = true;
  r.elements = box.elements();
  r.element_size = 1;
  r.packed = reinterpret_cast<std::byte*>(data.data());
  r.selection = std::move(box);
  return r;
}

// Copies a box's values to its elements, row after row.
void paint(const Request& r, Count columns, std::vector<std::uint8_t>& onto) {
  const auto& box = std::get<Subarray>(r.selection);
  const std::byte* at = r.packed;
  for (Count i = 0; i < box.count[0]; ++i)
    for (Count j = 0; j < box.count[1]; ++j)
      onto[static_cast<std::size_t>((box.start[0] + i * box.stride[0]) * columns + box.start[1] +
                                    j * box.stride[1])] = static_cast<std::uint8_t>(*at++);
}

TEST(WaitingWrites, a_huge_box_is_handed_over_in_rounds_of_the_limit_as_often_as_asked_for) {
  constexpr Count rows = 30, columns = 900;
  WaitingWrites waiting = make_waiting();
  std::vector<std::uint8_t> expected(static_cast<std::size_t>(2 * rows * columns)), data(9000);
  std::iota(data.begin(), data.end(), std::uint8_t{0});
  const Subarray boxes[] = {
      {{1, 3}, {20, 400}, {3, 2}}, {{5, 0}, {1, 900}, {1, 1}}, {{7, 100}, {3, 3000 / 10}, {1, 1}}};
  for (const Subarray& box : boxes) {
    Request r = write_of(data, box);
    paint(r, columns, expected);
    waiting.add(r);
  }
  EXPECT_GE(waiting.rounds(), 9);
  for (int again = 0; again < 5; ++again) {
    waiting.begin_again();
    std::vector<std::uint8_t> got(expected.size());
    for (std::int64_t round = 0; round < waiting.rounds(); ++round) {
      if (again == 3 && round == 4) break;  // the round failed
      Count bytes = 0;
      for (const Request& r : waiting.next_round()) {
        paint(r, columns, got);
        bytes += r.elements;
      }
      EXPECT_LE(bytes, limit);
    }
    if (again == 3) continue;
    EXPECT_TRUE(waiting.next_round().empty());
    EXPECT_EQ(got, expected);
  }
  waiting.clear();
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(waiting.rounds(), 0);
}

}  // namespace waiting_test
}  // namespace forebay::decomposed
