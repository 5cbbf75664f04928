#include "array/run_list_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {
namespace run_list_pool_test {

Variable make_variable(std::vector<Count> shape, bool record, Type type = Type::int32) {
  Variable var;
  var.name = "v";
  var.type = type;
  var.is_record = record;
  var.shape = shape;
  if (record) var.shape[0] = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    var.dimids.push_back(static_cast<int>(d));
    if (d > 0 || !record) var.inner_elements *= shape[d];
  }
  return var;
}

struct Pieces {
  std::vector<std::vector<Count>> starts, counts;
  std::vector<const Count*> start_pointers, count_pointers;

  VarnPieces view() {
    start_pointers.clear();
    count_pointers.clear();
    for (auto& s : starts) start_pointers.push_back(s.data());
    for (auto& c : counts) count_pointers.push_back(c.empty() ? nullptr : c.data());
    return {static_cast<int>(starts.size()), start_pointers.data(), count_pointers.data()};
  }
  void move_record(Count by) {
    for (auto& s : starts) s[0] += by;
  }
};

RunList placed(const Runs& runs) {
  RunList list = *runs.list;
  for (Run& run : list.runs) run.offset += runs.base;
  return list;
}

/// Compares what flatten_varn finds, or the error that it throws, with what the pool does.
void compare(RunListPool& pool, const Variable& var, Pieces& pieces, SelectionLimits limits,
             bool write, Runs* result = nullptr) {
  RunList expected;
  FlattenedVarn found, wanted;
  Runs runs;
  const auto error =
      attempt_to([&] { wanted = flatten_varn(var, pieces.view(), limits, write, expected); });
  const auto got =
      attempt_to([&] { runs = pool.flatten(var, pieces.view(), limits, write, found); });
  ASSERT_EQ(got.has_value(), error.has_value());
  if (error) {
    ASSERT_EQ(got->code(), error->code());
    return;
  }
  ASSERT_EQ(placed(runs), expected);
  ASSERT_EQ(found.elements, wanted.elements);
  ASSERT_EQ(found.last_record, wanted.last_record);
  ASSERT_EQ(found.has_empty, wanted.has_empty);
  if (result) *result = runs;
}

Pieces random_pieces(std::mt19937& random, const std::vector<Count>& shape, Count records) {
  const auto pick = [&](Count low, Count high) {
    return low + static_cast<Count>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Pieces pieces;
  for (Count i = pick(1, 40); i > 0; --i) {
    std::vector<Count> start, count;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Count length = d == 0 ? records : shape[d];
      start.push_back(pick(0, length - 1));
      count.push_back(pick(random() % 50 == 0 ? 0 : 1, std::min<Count>(3, length - start[d])));
    }
    if (random() % 4 == 0) count.clear();
    pieces.starts.push_back(std::move(start));
    pieces.counts.push_back(std::move(count));
  }
  return pieces;
}

TEST(RunListPool, finds_what_flattening_finds_whatever_it_has_met) {
  std::mt19937 random(5);
  int met_again = 0;
  for (int round = 0; round < 60; ++round) {
    RunListPool pool;
    const bool record = round % 3 != 0;
    std::vector<Count> shape{7};
    for (auto d = random() % 5; d > 0; --d) shape.push_back(2 + static_cast<Count>(random() % 6));
    const Variable vars[] = {make_variable(shape, record), make_variable(shape, record),
                             make_variable(shape, record, Type::float64)};
    std::vector<Pieces> patterns;
    for (int i = 0; i < 6; ++i) patterns.push_back(random_pieces(random, shape, 7));
    std::set<const RunList*> lists;
    for (int i = 0; i < 200; ++i) {
      Pieces pieces = patterns[random() % patterns.size()];
      const bool write = random() % 2 == 0;
      // Some selections leave the variable at its front or its end.
      if (random() % 2 == 0) pieces.move_record(static_cast<Count>(random() % 10) - 3);
      if (random() % 20 == 0) pieces.starts.back().back() += 3;
      Runs runs;
      compare(pool, vars[random() % 3], pieces, {record ? Count{9} : Count{0}, random() % 2 == 0},
              write, &runs);
      if (HasFatalFailure()) return;
      met_again += runs.list && !lists.insert(runs.list.get()).second;
    }
  }
  EXPECT_GT(met_again, 1000);
}

// There are more numbers than fit the buffer of the hash. A change anywhere is seen, also one that
// numbers of 32 bits do not show.
void expect_changes_are_seen(Count scale) {
  RunListPool pool;
  const Variable var = make_variable({1, 10'000 * scale}, true, Type::byte);
  Pieces pieces;
  for (Count i = 0; i < 1000; ++i) {
    pieces.starts.push_back({2, 9 * i * scale});
    pieces.counts.push_back({1, 3 * scale});
  }
  Runs first, again;
  compare(pool, var, pieces, {9}, true, &first);
  compare(pool, var, pieces, {9}, true, &again);
  EXPECT_EQ(first.list, again.list);
  for (const std::size_t at :
       {std::size_t{1}, std::size_t{130}, std::size_t{500}, std::size_t{999}}) {
    for (int what = 0; what < 3; ++what) {
      Pieces changed = pieces;
      if (what == 0) changed.starts[at][1] += scale;
      if (what == 1) changed.counts[at][1] -= scale;
      if (what == 2) ++changed.starts[at][0];
      compare(pool, var, changed, {9}, true, &again);
      EXPECT_NE(first.list, again.list) << at;
    }
  }
}

TEST(RunListPool, sees_a_change_of_any_piece) {
  expect_changes_are_seen(1);
  expect_changes_are_seen(Count{1} << 32);
}

TEST(RunListPool, refuses_what_flattening_refuses_though_it_knows_the_rest) {
  RunListPool pool;
  const Variable var = make_variable({1, 50}, true);
  Pieces pieces;
  for (Count i = 0; i < 20; ++i) {
    pieces.starts.push_back({1, i});
    pieces.counts.push_back(i % 2 == 0 ? std::vector<Count>{} : std::vector<Count>{1, 1});
  }
  const auto expect_same = [&](const VarnPieces& view) {
    RunList list;
    FlattenedVarn found, wanted;
    Runs runs;
    const auto error = attempt_to([&] { wanted = flatten_varn(var, view, {5}, true, list); });
    const auto got = attempt_to([&] { runs = pool.flatten(var, view, {5}, true, found); });
    ASSERT_EQ(got.has_value(), error.has_value());
    if (error) EXPECT_EQ(got->code(), error->code());
    if (!error) EXPECT_EQ(placed(runs), list);
  };
  expect_same(pieces.view());
  VarnPieces view = pieces.view();
  view.counts = nullptr;  // one element each: the same as all counts of one
  expect_same(view);
  for (const std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{19}}) {
    view = pieces.view();
    pieces.start_pointers[at] = nullptr;
    expect_same(view);
  }
  view = pieces.view();
  view.starts = nullptr;
  expect_same(view);
  for (const Count hostile : {INT64_MIN, INT64_MIN + 1, Count{-1}, INT64_MAX - 1, INT64_MAX}) {
    Pieces wrong = pieces;
    for (auto& start : wrong.starts) start[0] = hostile;
    expect_same(wrong.view());
    wrong = pieces;
    wrong.starts[9][1] = hostile;
    expect_same(wrong.view());
    wrong = pieces;
    wrong.counts[9][1] = hostile;
    expect_same(wrong.view());
  }
}

TEST(RunListPool, one_list_serves_variables_and_records) {
  RunListPool pool;
  const Variable var = make_variable({1, 50}, true), other = make_variable({1, 50}, true);
  Pieces pieces;
  for (Count i = 0; i < 20; ++i) {
    pieces.starts.push_back({3 + i % 2, (i * 7) % 50});
    pieces.counts.push_back({1, 1});
  }
  Runs first, second, third;
  compare(pool, var, pieces, {100}, true, &first);
  pieces.move_record(60);
  compare(pool, other, pieces, {100}, true, &second);
  EXPECT_EQ(first.list, second.list);
  EXPECT_EQ(second.base - first.base, 60 * 200);
  compare(pool, make_variable({1, 51}, true), pieces, {100}, true, &third);
  EXPECT_NE(third.list, first.list);
  compare(pool, make_variable({1, 50}, true, Type::float64), pieces, {100}, true, &third);
  EXPECT_NE(third.list, first.list);
  // A piece in another place, in another order, or of another size is another selection.
  for (int change = 0; change < 3; ++change) {
    Pieces changed = pieces;
    if (change == 0) ++changed.starts[19][1];
    if (change == 1) std::swap(changed.starts[0], changed.starts[1]);
    if (change == 2) changed.counts[19] = {1, 2};
    compare(pool, var, changed, {100}, true, &third);
    EXPECT_NE(third.list, first.list) << change;
  }
  // It is refused if there is no such record, known or not.
  FlattenedVarn found;
  const auto refused = attempt_to([&] { pool.flatten(var, pieces.view(), {64}, false, found); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), Errc::einvalcoords);
}

TEST(RunListPool, holds_few_lists_alive) {
  RunListPool pool;
  const Variable var = make_variable({1, 4'000'000}, true);
  std::vector<std::weak_ptr<const RunList>> lists;
  for (Count i = 0; i < 8; ++i) {
    Pieces pieces;
    for (Count k = 0; k < 400'000; ++k) {  // 6.4 MB each
      pieces.starts.push_back({0, 10 * k + i});
      pieces.counts.emplace_back();
    }
    Runs runs;
    compare(pool, var, pieces, {1}, true, &runs);
    lists.push_back(runs.list);
  }
  EXPECT_EQ(std::count_if(lists.begin(), lists.end(), [](auto& l) { return !l.expired(); }), 2);
  EXPECT_FALSE(lists.back().expired());

  // A list larger than the limit for all is not kept.
  Pieces pieces;
  for (Count k = 0; k < 1'500'000; ++k) {
    pieces.starts.push_back({0, 2 * k});
    pieces.counts.emplace_back();
  }
  Runs runs;
  compare(pool, var, pieces, {1}, true, &runs);
  EXPECT_EQ(runs.list.use_count(), 1);
}

TEST(RunListPool, equal_lists_are_stored_once_while_in_use) {
  RunListPool pool;
  RunList list;
  list.runs = {{4, 4}, {20, 8}};
  list.bytes = 12;
  const auto first = pool.share(list);
  EXPECT_EQ(pool.share(list), first);
  for (int i = 0; i < 40; ++i) {
    list.runs.back().offset = 100 + i;
    EXPECT_NE(pool.share(list), first);
  }
  EXPECT_EQ(first->runs.back().offset, 20);
}

}  // namespace run_list_pool_test
}  // namespace forebay
