#include "decomposed/part_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "decomposed/selected.h"

namespace forebay::decomposed {
namespace part_order_test {

using Elements = std::vector<Count>;  // of the array, flattened

Pattern of(std::vector<Count> inner, const Elements& elements) {
  std::vector<Run> runs;
  for (const Count e : elements) runs.push_back({e, 1});
  return factored(inner, runs);
}

std::vector<Pattern> patterns_of(const std::vector<Count>& inner, Count levels,
                                 const std::vector<Elements>& columns) {
  std::vector<Pattern> patterns;
  for (const Elements& its : columns) {
    Elements all;
    for (Count level = 0; level < levels; ++level)
      for (const Count c : its) all.push_back(level * inner.back() + c);
    patterns.push_back(of(inner, all));
  }
  return patterns;
}

// Elements have their numbers in the array as values, so sorted values increase.
template <typename T>
void expect_sorts(const std::vector<Count>& inner, Count levels,
                  const std::vector<Elements>& columns) {
  const auto order = PartOrder::of(patterns_of(inner, levels, columns));
  ASSERT_TRUE(order);
  std::vector<T> held, wanted;
  for (const Elements& its : columns)
    for (Count level = 0; level < levels; ++level)
      for (const Count c : its) held.push_back(static_cast<T>(level * inner.back() + c));
  wanted = held;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(order->elements(), std::ssize(held));
  std::vector<T> sorted(held.size()), back(held.size());
  const auto bytes = [](std::vector<T>& v) { return std::as_writable_bytes(std::span(v)); };
  order->sort(bytes(held), bytes(sorted), sizeof(T));
  EXPECT_EQ(sorted, wanted);
  order->unsort(bytes(sorted), bytes(back), sizeof(T));
  EXPECT_EQ(back, held);
}

TEST(PartOrder, elements_of_any_width_come_into_the_order_of_the_array_and_back) {
  expect_sorts<std::int32_t>({2, 4}, 2, {{0, 2}, {1, 3}});
  std::mt19937 random(7);
  for (int times = 0; times < 40; ++times) {
    const Count levels = 1 + times % 5, length = 20 + times;
    std::vector<Elements> columns(static_cast<std::size_t>(2 + times % 3));
    for (Count c = 0; c < length; ++c)
      if (random() % 5 != 0) columns[random() % columns.size()].push_back(c);
    columns[0].push_back(length);  // interleaves the two, so that no order is sorted
    columns[1].insert(columns[1].end(), {length + 1, length + 3});
    columns[0].push_back(length + 2);
    // One rank has the last and the first column. Its runs cross levels, so its leading steps
    // differ.
    for (Elements& its : columns) std::erase(its, 0);
    Elements& with_first = columns[times % 2 == 0 ? 1 : 0];
    with_first.insert(with_first.begin(), 0);
    std::erase_if(columns, [](const Elements& its) { return its.empty(); });
    const std::vector<Count> inner{levels, length + 4};
    expect_sorts<std::int16_t>(inner, levels, columns);
    expect_sorts<std::int32_t>(inner, levels, columns);
    expect_sorts<std::int64_t>(inner, levels, columns);
  }
}

TEST(PartOrder, what_cannot_be_sorted_or_need_not_stays_as_it_is) {
  const std::vector<Count> inner{3, 8};
  const auto order = [&](Count levels, const std::vector<Elements>& columns) {
    return PartOrder::of(patterns_of(inner, levels, columns));
  };
  EXPECT_TRUE(order(3, {{0, 2}, {1, 3}}));
  EXPECT_FALSE(order(3, {{0, 2}}));             // one rank
  EXPECT_FALSE(order(1, {{0, 1}, {2, 5}}));     // already sorted
  EXPECT_FALSE(order(3, {{0, 2}, {2, 3}}));     // both have one element
  EXPECT_FALSE(order(3, {{0, 5}, {2, 5, 6}}));  // the same, later
  EXPECT_FALSE(PartOrder::of({}));
  auto mixed = patterns_of(inner, 3, {{0, 2}});
  mixed.push_back(patterns_of({3, 9}, 3, {{1, 3}})[0]);
  EXPECT_FALSE(PartOrder::of(mixed));                          // of another array
  const auto wraps = patterns_of(inner, 3, {{1, 3}, {0, 7}});  // 2 runs, and 4
  EXPECT_TRUE(PartOrder::of(wraps, 10));
  EXPECT_FALSE(PartOrder::of(wraps, 9));
}

TEST(PartOrder, orders_are_made_once_and_forgotten_rather_than_that_memory_grows) {
  const auto patterns = patterns_of({2, 8}, 2, {{0, 2}, {1, 3}, {5}, {4}});
  const std::vector<Key> keys{{1, 1}, {2, 2}, {3, 3}, {4, 4}};
  int asked = 0;
  const auto pattern = [&](std::size_t first, std::size_t count) {
    return [&, at = first, end = first + count]() mutable -> std::optional<Pattern> {
      if (at == end) return std::nullopt;
      ++asked;
      return patterns[at++];
    };
  };
  const auto get = [&](PartOrders& orders, std::size_t first, std::size_t count) {
    const auto name = std::as_bytes(std::span(keys).subspan(first, count));
    return orders.of(name, pattern(first, count));
  };
  PartOrders orders(1 << 20);
  const auto once = get(orders, 0, 2);
  ASSERT_TRUE(once);
  EXPECT_EQ(get(orders, 0, 2), once);
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(get(orders, 2, 1));  // this result is cached too
  EXPECT_FALSE(get(orders, 2, 1));
  EXPECT_EQ(asked, 3);
  EXPECT_NE(get(orders, 2, 2), once);
  EXPECT_EQ(get(orders, 0, 2), once);
  EXPECT_EQ(asked, 5);

  PartOrders small(100);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(get(small, 0, 2));
    EXPECT_TRUE(get(small, 2, 2));
  }
  EXPECT_EQ(asked, 17);
  PartOrders few(1 << 20, 3);  // runs
  EXPECT_FALSE(get(few, 0, 2));
  EXPECT_TRUE(get(few, 2, 2));
}

}  // namespace part_order_test
}  // namespace forebay::decomposed
