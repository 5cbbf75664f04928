#include "array/decomposition.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {
namespace array_decomposition_test {

/// Starts and counts as C callers give them.
struct Pieces {
  std::vector<std::vector<Count>> starts, counts;
  std::vector<const Count*> start_pointers, count_pointers;

  VarnPieces view() {
    start_pointers.clear(), count_pointers.clear();
    for (const auto& s : starts) start_pointers.push_back(s.data());
    for (const auto& c : counts) count_pointers.push_back(c.data());
    return {static_cast<int>(starts.size()), start_pointers.data(), count_pointers.data()};
  }
};

Variable variable(Type type, std::vector<Count> shape, bool is_record) {
  Variable var;
  var.name = "v";
  var.type = type;
  var.is_record = is_record;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    var.dimids.push_back(static_cast<DimId>(d));
    if (d > 0 || !is_record) var.inner_elements *= shape[d];
  }
  if (is_record) shape[0] = 0;
  var.shape = std::move(shape);
  return var;
}

/// Maps each byte of the variable to its byte of memory; in reads, to several.
std::multimap<Offset, Offset> bytes_of(const Runs& runs) {
  std::multimap<Offset, Offset> bytes;
  Offset position = 0;
  for (std::size_t i = 0; i < runs.list->runs.size(); ++i) {
    const Run& run = runs.list->runs[i];
    const Offset from = runs.list->memory.empty() ? position : runs.list->memory[i];
    for (Count b = 0; b < run.length; ++b) bytes.emplace(runs.base + run.offset + b, from + b);
    position += run.length;
  }
  return bytes;
}

Pieces random_pieces(std::mt19937& random, Count rows, Count columns) {
  Pieces pieces;
  const auto below = [&](Count n) {
    return static_cast<Count>(random() % static_cast<unsigned>(n));
  };
  for (Count i = below(9); i >= 0; --i) {
    const Count y = below(rows), x = below(columns);
    pieces.starts.push_back({y, x});
    pieces.counts.push_back({below(rows - y + 1), below(columns - x + 1)});
  }
  return pieces;
}

// In the equivalent varn, each leading coordinate's pieces follow those of the one before.
TEST(decomposition, selects_what_the_equivalent_pieces_do) {
  constexpr Count records = 4, levels = 3, rows = 4, columns = 7;
  std::mt19937 random(5);
  for (int time = 0; time < 300; ++time) {
    Pieces pieces = random_pieces(random, rows, columns);
    const Decomposition map({2, 3}, {rows, columns}, 1, pieces.view());
    const bool write = time % 2 == 0;
    const Variable var = variable(time % 3 == 0 ? Type::int16 : Type::float64,
                                  {records, levels, rows, columns}, true);
    const std::vector<Count> start = {static_cast<Count>(random() % 2),
                                      static_cast<Count>(random() % 2)};
    const std::vector<Count> count = {1 + static_cast<Count>(random() % 3),
                                      1 + static_cast<Count>(random() % 2)};
    const int first = static_cast<int>(random() % pieces.starts.size());
    const int n =
        static_cast<int>(random() % (pieces.starts.size() - static_cast<std::size_t>(first) + 1));
    if (map.elements(first, n) == 0) continue;
    Pieces all;
    for (Count r = 0; r < count[0]; ++r)
      for (Count l = 0; l < count[1]; ++l)
        for (int i = first; i < first + n; ++i) {
          const auto& s = pieces.starts[static_cast<std::size_t>(i)];
          const auto& c = pieces.counts[static_cast<std::size_t>(i)];
          all.starts.push_back({start[0] + r, start[1] + l, s[0], s[1]});
          all.counts.push_back({1, 1, c[0], c[1]});
        }
    RunList wanted;
    const FlattenedVarn found = flatten_varn(var, all.view(), 10, write, wanted);
    const Runs got = map.select(var, start, count, first, n, write);
    ASSERT_EQ(found.elements, map.elements(first, n) * count[0] * count[1]);
    ASSERT_EQ(wanted.bytes, got.list->bytes);
    ASSERT_EQ(wanted.overlapping, got.list->overlapping);
    ASSERT_EQ(bytes_of({std::make_shared<const RunList>(wanted), 0}), bytes_of(got)) << time;
    for (std::size_t i = 1; i < got.list->runs.size(); ++i)
      ASSERT_LE(got.list->runs[i - 1].offset, got.list->runs[i].offset);
  }
}

TEST(decomposition, one_list_serves_variables_records_and_levels) {
  Pieces pieces{{{0}, {4}, {9}}, {{2}, {3}, {1}}, {}, {}};
  const Decomposition map({2}, {10}, 4, pieces.view());
  const Variable a = variable(Type::float32, {5, 3, 10}, true),
                 b = variable(Type::int32, {10}, false);
  const std::vector<Count> at[] = {{0, 0}, {3, 2}}, one = {1, 1}, both = {1, 2};
  const Runs first = map.select(a, at[0], one, 0, 3, true);
  EXPECT_EQ(first.list, map.select(a, at[1], one, 0, 3, true).list);
  EXPECT_EQ(first.list, map.select(a, at[1], one, 0, 3, false).list);
  EXPECT_EQ(first.list, map.select(b, {}, {}, 0, 3, true).list);
  EXPECT_EQ(map.select(a, at[1], one, 0, 3, true).base, ((3 * 3 + 2) * 10) * 4);
  const Runs two = map.select(a, at[0], both, 0, 3, true);
  EXPECT_NE(first.list, two.list);
  EXPECT_EQ(two.list, map.select(a, {{4, 0}}, both, 0, 3, true).list);
}

TEST(decomposition, parts_count_their_elements_and_empty_ones_none) {
  Pieces pieces{{{0, 0}, {1, 0}, {2, 2}, {0, 1}}, {{1, 5}, {0, 5}, {2, 2}, {2, 1}}, {}, {}};
  const Decomposition map({0, 1}, {4, 5}, 1, pieces.view());
  EXPECT_EQ(map.pieces(), 4);
  EXPECT_EQ(map.elements(), 5 + 0 + 4 + 2);
  EXPECT_EQ(map.elements(1, 1), 0);
  EXPECT_EQ(map.elements(1, 2), 4);
  EXPECT_TRUE(map.runs(0, 4, false).overlapping);
  EXPECT_EQ(map.runs(0, 4, true).bytes, 10);
  const Decomposition nothing({0, 1}, {4, 5}, 1, VarnPieces{});
  EXPECT_TRUE(nothing.has_pieces());
  EXPECT_EQ(nothing.pieces(), 0);
  EXPECT_EQ(nothing.elements(), 0);
}

TEST(decomposition, wrong_pieces_are_refused_in_the_order_of_varn) {
  const auto code_of = [](std::vector<Count> start, std::vector<Count> count) {
    Pieces pieces{{{0, 0}, std::move(start)}, {{1, 1}, std::move(count)}, {}, {}};
    const auto error = attempt_to([&] { Decomposition({0, 1}, {4, 5}, 1, pieces.view()); });
    return error ? error->code() : Errc::ok;
  };
  EXPECT_EQ(code_of({0, 0}, {4, 5}), Errc::ok);
  EXPECT_EQ(code_of({0, 5}, {1, 0}), Errc::ok);
  EXPECT_EQ(code_of({-1, 0}, {1, 1}), Errc::einvalcoords);
  EXPECT_EQ(code_of({0, 5}, {1, 1}), Errc::einvalcoords);
  EXPECT_EQ(code_of({0, 0}, {-1, 1}), Errc::enegativecnt);
  EXPECT_EQ(code_of({0, 0}, {1, 6}), Errc::eedge);
  EXPECT_EQ(code_of({0, 0}, {INT64_MAX, 5}), Errc::eedge);
  const VarnPieces no_starts{1, nullptr, nullptr};
  const auto error = attempt_to([&] { Decomposition({0}, {4}, 1, no_starts); });
  EXPECT_EQ(error->code(), Errc::enullstart);
}

// There are more lists than are kept, so that some are made again.
TEST(decomposition, lists_that_were_forgotten_are_made_anew) {
  Pieces pieces;
  for (Count i = 0; i < 40; ++i) pieces.starts.push_back({2 * i}), pieces.counts.push_back({1});
  const Decomposition map({0}, {80}, 1, pieces.view());
  const Variable var = variable(Type::int32, {80}, false);
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < 40; ++i) {
      const Runs runs = map.select(var, {}, {}, i, 1, true);
      ASSERT_EQ(runs.list->runs, (std::vector<forebay::Run>{{8 * i, 4}}));
    }
}

}  // namespace array_decomposition_test
}  // namespace forebay
