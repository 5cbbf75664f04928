#include "hdf5/log/lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "hdf5/log/index_pages.h"

namespace forebay::logged {
namespace lookup_test {

Bounds box(std::vector<Count> low, std::vector<Count> high, const std::vector<Count>& extents) {
  Bounds bounds{std::move(low), std::move(high), 0, 0, {extents.begin() + 1, extents.end()}};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    bounds.first = bounds.first * extents[d] + bounds.low[d];
    bounds.last = bounds.last * extents[d] + bounds.high[d] - 1;
  }
  ++bounds.last;
  return bounds;
}

bool meet(const Bounds& a, const Bounds& b) {
  for (std::size_t d = 0; d < a.low.size(); ++d)
    if (a.low[d] >= b.high[d] || b.low[d] >= a.high[d]) return false;
  return true;
}

/// Entries of random boxes. An entry's `base` is its number in write order.
struct Case {
  std::vector<Count> extents{50, 40, 30};
  std::vector<Bounds> bounds;
  Lookup lookup{3};
  std::mt19937_64 rng;

  explicit Case(std::uint64_t seed) : rng(seed) {}
  Bounds draw(Count most) {
    std::vector<Count> low(3), high(3);
    for (std::size_t d = 0; d < 3; ++d) {
      low[d] = static_cast<Count>(rng() % static_cast<std::uint64_t>(extents[d]));
      high[d] = std::min(extents[d],
                         low[d] + 1 + static_cast<Count>(rng() % static_cast<std::uint64_t>(most)));
    }
    return box(low, high, extents);
  }
  void add(std::uint64_t epoch) {
    bounds.push_back(draw(8));
    Entry entry;
    entry.epoch = epoch;
    entry.base = static_cast<Count>(bounds.size()) - 1;
    lookup.add(entry, {}, &bounds.back());
  }
  void check() {
    for (int i = 0; i < 50; ++i) {
      const Bounds wanted = draw(10);
      std::vector<std::uint32_t> numbers;
      lookup.find(wanted, numbers);
      EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
      std::vector<bool> found(bounds.size());
      for (const auto n : numbers) found[static_cast<std::size_t>(lookup.entry(n).base)] = true;
      for (std::size_t k = 0; k < bounds.size(); ++k)
        EXPECT_TRUE(found[k] || !meet(bounds[k], wanted)) << "entry " << k;
    }
  }
};

TEST(Lookup, finds_every_entry_that_meets_a_box) {
  for (const int n : {0, 1, 16, 17, 300, 5000}) {
    Case c(static_cast<std::uint64_t>(n));
    for (int i = 0; i < n; ++i) c.add(1);
    c.lookup.build();
    c.check();
  }
}

TEST(Lookup, what_is_added_later_is_found_too) {
  Case c(7);
  for (int i = 0; i < 500; ++i) c.add(1);
  c.lookup.build();
  for (int i = 0; i < 300; ++i) c.add(2);
  c.lookup.build();
  c.check();
}

TEST(Lookup, survives_being_stored) {
  Case c(8);
  for (int i = 0; i < 500; ++i) c.add(1);
  c.lookup.build();
  c.lookup = Lookup(parse_list(print_list(c.lookup.list())));
  c.check();
  for (int i = 0; i < 100; ++i) c.add(5);
  c.lookup.build();
  c.check();
}

/// What a reader finds who reads the head and the pages that meet a box.
std::vector<std::uint32_t> found_in_pages(std::span<const std::byte> list, const Bounds& wanted) {
  const ListHead head = parse_head(list, std::ssize(list));
  std::vector<NumberedEntry> found;
  const auto box = head.writes > 0 ? wanted_box(head, wanted) : std::vector<Count>(64);
  for (const std::uint32_t page : pages_meeting(head, box.data())) {
    const auto records = list.subspan(static_cast<std::size_t>(head.page_place(page)),
                                      static_cast<std::size_t>(head.page_bytes(page)));
    find_in_page(head, records, box.data(), [&](std::span<const std::byte> record) {
      found.push_back(parse_record(head, record));
    });
  }
  complete(head, found);
  std::vector<std::uint32_t> numbers;
  for (const NumberedEntry& one : found) numbers.push_back(one.number);
  return numbers;
}

TEST(Lookup, pages_have_what_the_tree_finds) {
  for (const int n : {0, 1, 255, 256, 257, 5000}) {
    Case c(static_cast<std::uint64_t>(n));
    for (int i = 0; i < n; ++i) c.add(1);
    Entry cut;
    cut.epoch = 2, cut.kind = Kind::cleared;
    c.lookup.add(cut, {}, nullptr);
    c.lookup.build();
    const auto list = print_list(c.lookup.list());
    for (int i = 0; i < 50; ++i) {
      const Bounds wanted = c.draw(10);
      std::vector<std::uint32_t> numbers;
      c.lookup.find(wanted, numbers);
      EXPECT_EQ(found_in_pages(list, wanted), numbers);
    }
  }
}

TEST(Lookup, a_small_box_meets_few_pages) {
  const std::vector<Count> extents = {256, 256};
  Lookup lookup(2);
  for (Count i = 0; i < 64 * 64; ++i) {
    const Bounds b = box({i / 64 * 4, i % 64 * 4}, {i / 64 * 4 + 4, i % 64 * 4 + 4}, extents);
    lookup.add({}, {}, &b);
  }
  lookup.build();
  const auto list = print_list(lookup.list());
  const ListHead head = parse_head(list, std::ssize(list));
  EXPECT_EQ(head.hashes.size(), 16U);
  EXPECT_LT(head.bytes, 1000);
  const auto here = wanted_box(head, box({100, 100}, {108, 108}, extents));
  EXPECT_LE(pages_meeting(head, here.data()).size(), 4U);
}

TEST(Lookup, blocks_are_told_apart_by_boxes_and_rows_by_intervals) {
  const std::vector<Count> extents = {64, 64};
  Lookup blocks(2), rows(2);
  for (Count i = 0; i < 8; ++i)
    for (Count j = 0; j < 8; ++j) {
      const Bounds b = box({8 * i, 8 * j}, {8 * i + 8, 8 * j + 8}, extents);
      blocks.add({}, {}, &b);
    }
  for (Count i = 0; i < 64; ++i) {
    const Bounds b = box({i, 0}, {i + 1, 64}, extents);
    rows.add({}, {}, &b);
  }
  blocks.build();
  rows.build();
  EXPECT_TRUE(blocks.list().by_box);
  EXPECT_FALSE(rows.list().by_box);
  std::vector<std::uint32_t> numbers;
  blocks.find(box({20, 20}, {21, 21}, extents), numbers);
  EXPECT_EQ(numbers.size(), 1u);
}

TEST(Lookup, entries_follow_each_other_by_epoch_then_rank_and_cuts_are_always_found) {
  const std::vector<Count> extents = {10};
  Lookup lookup(1);
  const Bounds here = box({2}, {4}, extents), far = box({8}, {9}, extents);
  for (const auto& [epoch, rank] : std::vector<std::pair<int, int>>{{3, 0}, {1, 1}, {1, 0}}) {
    Entry entry;
    entry.epoch = static_cast<std::uint64_t>(epoch), entry.rank = static_cast<std::uint32_t>(rank);
    lookup.add(entry, {}, &here);
  }
  Entry cut;
  cut.epoch = 2, cut.kind = Kind::cleared;
  lookup.add(cut, {}, nullptr);
  lookup.build();
  std::vector<std::uint32_t> numbers;
  lookup.find(far, numbers);
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(lookup.entry(numbers[0]).kind, Kind::cleared);
  lookup.find(here, numbers);
  ASSERT_EQ(numbers.size(), 4u);
  EXPECT_EQ(lookup.entry(numbers[0]).rank, 0u);
  EXPECT_EQ(lookup.entry(numbers[1]).rank, 1u);
  EXPECT_EQ(lookup.entry(numbers[3]).epoch, 3u);
}

TEST(Lookup, impossible_stored_boxes_are_damage) {
  Case c(9);
  for (int i = 0; i < 20; ++i) c.add(1);
  c.lookup.build();
  EntryList list = c.lookup.list();
  list.boxes[1] = list.boxes[0];
  EXPECT_THROW(Lookup{list}, Error);
}

TEST(Lookup, an_order_that_names_a_write_twice_or_a_cut_is_damage) {
  Case c(10);
  for (int i = 0; i < 20; ++i) c.add(1);
  c.lookup.build();
  EntryList twice = c.lookup.list();
  twice.order[3] = twice.order[4];
  EXPECT_THROW(Lookup{twice}, Error);
  EntryList cut = c.lookup.list();
  cut.entries[5].kind = Kind::extent;
  EXPECT_THROW(Lookup{cut}, Error);
}

TEST(Lookup, extents_of_which_places_would_have_no_63_bits_do_no_harm) {
  EntryList list = parse_list(print_list([] {
    Lookup lookup(2);
    const Bounds here = box({0, 0}, {1, 1}, {1, Count{1} << 62});
    lookup.add({}, {}, &here);
    lookup.build();
    return lookup.list();
  }()));
  const Lookup lookup(list);
  std::vector<std::uint32_t> numbers;
  lookup.find(box({0, 0}, {100, 50}, {100, 50}), numbers);
  EXPECT_EQ(numbers.size(), 1u);
  lookup.find(box({90, 0}, {100, 50}, {100, 50}), numbers);
  EXPECT_TRUE(numbers.empty());
}

}  // namespace lookup_test
}  // namespace forebay::logged
