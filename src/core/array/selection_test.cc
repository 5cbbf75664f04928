#include "array/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "base/error.h"

namespace forebay {
namespace selection_test {

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
  var.vsize = round_up(var.inner_elements * size_of(type), 4);
  return var;
}

struct Pieces {
  std::vector<std::vector<Count>> starts, counts;
  std::vector<const Count*> start_pointers, count_pointers;

  void add(std::vector<Count> start, std::vector<Count> count) {
    starts.push_back(std::move(start));
    counts.push_back(std::move(count));
  }
  VarnPieces view() {
    start_pointers.clear();
    count_pointers.clear();
    for (auto& s : starts) start_pointers.push_back(s.data());
    for (auto& c : counts) count_pointers.push_back(c.empty() ? nullptr : c.data());
    return {static_cast<int>(starts.size()), start_pointers.data(), count_pointers.data()};
  }
};

/// Returns the file byte offset of each element of the pieces, in memory order.
std::vector<Offset> element_offsets(const Variable& var, const Pieces& pieces, Count per_record) {
  const int n = var.ndims();
  std::vector<Count> step(static_cast<std::size_t>(n));
  Count s = size_of(var.type);
  for (int d = n - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    step[i] = d == 0 && var.is_record ? per_record : s;
    s *= var.shape[i];
  }
  std::vector<Offset> offsets;
  for (std::size_t p = 0; p < pieces.starts.size(); ++p) {
    std::vector<Count> count = pieces.counts[p];
    if (count.empty()) count.assign(step.size(), 1);
    Count total = 1;
    for (Count c : count) total *= c;
    for (Count e = 0; e < total; ++e) {
      Count rest = e;
      Offset offset = 0;
      for (int d = n - 1; d >= 0; --d) {
        const auto i = static_cast<std::size_t>(d);
        offset += (pieces.starts[p][i] + rest % count[i]) * step[i];
        rest /= count[i];
      }
      offsets.push_back(offset);
    }
  }
  return offsets;
}

/// Returns (file offset, memory offset) of each element of a list, in file order.
std::vector<std::pair<Offset, Offset>> expand(const RunList& list, int size) {
  std::vector<std::pair<Offset, Offset>> out;
  Offset sum = 0;
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    const Offset memory = list.memory.empty() ? sum : list.memory[i];
    for (Count b = 0; b < list.runs[i].length; b += size) {
      out.emplace_back(list.runs[i].offset + b, memory + b);
    }
    sum += list.runs[i].length;
  }
  return out;
}

Errc code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return Errc::ok;
}

TEST(flatten_varn, neighbouring_pieces_become_one_run) {
  const Variable var = make_variable({4, 5}, false);
  Pieces pieces;
  pieces.add({0, 3}, {});
  pieces.add({0, 4}, {});
  pieces.add({1, 0}, {2, 5});
  RunList list;
  const auto result = flatten_varn(var, pieces.view(), 0, true, list);
  EXPECT_EQ(list.runs, (std::vector<forebay::Run>{{12, 48}}));
  EXPECT_TRUE(list.memory.empty());
  EXPECT_EQ(list.bytes, 48);
  EXPECT_EQ(result.elements, 12);
  EXPECT_EQ(result.last_record, 0);
}

TEST(flatten_varn, unsorted_pieces_keep_their_place_in_memory) {
  const Variable var = make_variable({10}, false, Type::float64);
  Pieces pieces;
  pieces.add({7}, {});
  pieces.add({2}, {3});
  RunList list;
  flatten_varn(var, pieces.view(), 0, true, list);
  EXPECT_EQ(list.runs, (std::vector<forebay::Run>{{16, 24}, {56, 8}}));
  EXPECT_EQ(list.memory, (std::vector<Offset>{8, 0}));
}

TEST(flatten_varn, records_follow_each_other_and_the_last_one_is_reported) {
  const Variable var = make_variable({0, 3}, true);
  Pieces pieces;
  pieces.add({1, 0}, {2, 3});
  pieces.add({4, 1}, {2, 2});
  RunList list;
  const auto result = flatten_varn(var, pieces.view(), max_records(5, 100), true, list);
  EXPECT_EQ(list.runs, (std::vector<forebay::Run>{{12, 24}, {52, 8}, {64, 8}}));
  EXPECT_EQ(result.last_record, 6);
}

TEST(flatten_varn, bad_pieces_give_the_code_of_the_first_offender) {
  const Variable fixed = make_variable({4, 5}, false);
  const Variable record = make_variable({0, 5}, true);
  const auto code = [](const Variable& var, Count records, std::vector<Count> start,
                       std::vector<Count> count) {
    Pieces pieces;
    pieces.add(std::move(start), std::move(count));
    RunList list;
    return code_of([&] { flatten_varn(var, pieces.view(), records, false, list); });
  };
  EXPECT_EQ(code(fixed, 0, {4, 0}, {}), Errc::einvalcoords);
  EXPECT_EQ(code(fixed, 0, {-1, 0}, {}), Errc::einvalcoords);
  EXPECT_EQ(code(fixed, 0, {4, 0}, {0, 1}), Errc::ok);
  EXPECT_EQ(code(fixed, 0, {5, 0}, {0, 1}), Errc::einvalcoords);
  EXPECT_EQ(code(fixed, 0, {0, 0}, {5, 1}), Errc::eedge);
  EXPECT_EQ(code(fixed, 0, {0, 0}, {-1, 1}), Errc::enegativecnt);
  EXPECT_EQ(code(fixed, 0, {0, 0}, {5, -1}), Errc::eedge);
  EXPECT_EQ(code(fixed, 0, {0, 9}, {-1, 1}), Errc::einvalcoords);
  EXPECT_EQ(code(record, 2, {2, 0}, {1, 5}), Errc::einvalcoords);
  EXPECT_EQ(code(record, 2, {1, 0}, {2, 5}), Errc::eedge);
  EXPECT_EQ(code(record, max_records(5, 20), {2, 0}, {1, 5}), Errc::ok);
  EXPECT_EQ(code(record, max_records(5, 20), {INT64_MAX, 0}, {1, 5}), Errc::einvalcoords);
  VarnPieces no_starts{1, nullptr, nullptr};
  RunList list;
  EXPECT_EQ(code_of([&] { flatten_varn(fixed, no_starts, 0, false, list); }), Errc::enullstart);
  const Count* null_start = nullptr;
  VarnPieces one_null{1, &null_start, nullptr};
  EXPECT_EQ(code_of([&] { flatten_varn(fixed, one_null, 0, false, list); }), Errc::enullstart);
}

TEST(flatten_varn, agrees_with_element_by_element_enumeration) {
  std::mt19937 random(7);
  const auto below = [&](Count n) { return static_cast<Count>(random() % std::uint64_t(n)); };
  for (int round = 0; round < 3000; ++round) {
    const int ndims = 1 + static_cast<int>(below(6));
    const bool record = below(2) == 0;
    std::vector<Count> shape;
    for (int d = 0; d < ndims; ++d) shape.push_back(1 + below(4));
    const Type type = below(2) == 0 ? Type::int16 : Type::float64;
    const Variable var = make_variable(shape, record, type);
    Pieces pieces;
    const Count num = below(round % 50 == 0 ? 400 : 8);
    for (Count p = 0; p < num; ++p) {
      std::vector<Count> start, count;
      for (Count length : shape) {
        start.push_back(below(length));
        count.push_back(below(length - start.back() + 1));
      }
      if (below(3) == 0) count.clear();
      pieces.add(start, count);
    }
    const bool write = below(2) == 0;
    RunList list;
    const auto result = flatten_varn(var, pieces.view(), shape[0], write, list);

    const auto offsets = element_offsets(var, pieces, var.inner_bytes());
    EXPECT_EQ(result.elements, static_cast<Count>(offsets.size()));
    const int size = size_of(type);
    auto got = expand(list, size);
    EXPECT_TRUE(std::is_sorted(
        list.runs.begin(), list.runs.end(),
        [](const forebay::Run& a, const forebay::Run& b) { return a.offset < b.offset; }));
    std::vector<std::pair<Offset, Offset>> want;
    if (write) {
      std::map<Offset, Offset> last;
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        last[offsets[i]] = static_cast<Offset>(i) * size;
      }
      want.assign(last.begin(), last.end());
      EXPECT_FALSE(list.overlapping);
    } else {
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        want.emplace_back(offsets[i], static_cast<Offset>(i) * size);
      }
      std::sort(want.begin(), want.end());
      std::sort(got.begin(), got.end());
      const bool twice = std::adjacent_find(want.begin(), want.end(), [](auto a, auto b) {
                           return a.first == b.first;
                         }) != want.end();
      EXPECT_EQ(list.overlapping, twice);
    }
    ASSERT_EQ(got, want) << "round " << round;
    EXPECT_EQ(list.bytes, static_cast<Count>(want.size()) * size);
  }
}

TEST(sorted_run_list, later_runs_win_where_many_overlap) {
  std::mt19937 random(3);
  std::vector<forebay::Run> runs;
  std::map<Offset, Offset> last;
  Offset sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const forebay::Run run{static_cast<Offset>(random() % 2000),
                           1 + static_cast<Count>(random() % 40)};
    for (Count b = 0; b < run.length; ++b) last[run.offset + b] = sum + b;
    sum += run.length;
    runs.push_back(run);
  }
  const RunList list = sorted_run_list(runs, {}, true);
  EXPECT_EQ(expand(list, 1), (std::vector<std::pair<Offset, Offset>>(last.begin(), last.end())));
}

// The runs of maps are usually in order: nothing is sorted there.
TEST(sorted_run_list, runs_in_order_are_merged_where_they_touch) {
  for (const bool resolve : {false, true}) {
    const RunList list =
        sorted_run_list({{0, 2}, {2, 3}, {5, 0}, {5, 1}, {9, 1}, {12, 0}}, {}, resolve);
    EXPECT_EQ(list.runs, (std::vector<forebay::Run>{{0, 6}, {9, 1}}));
    EXPECT_TRUE(list.memory.empty());
    EXPECT_EQ(list.bytes, 7);
    EXPECT_FALSE(list.overlapping);
    EXPECT_TRUE(sorted_run_list({{0, 4}, {3, 2}}, {}, false).overlapping);
  }
}

TEST(sorted_run_list, is_empty_for_empty_runs) {
  const RunList list = sorted_run_list({{5, 0}, {1, 0}}, {}, true);
  EXPECT_TRUE(list.runs.empty());
  EXPECT_EQ(list.bytes, 0);
}

TEST(check_selection, strides_count_towards_the_edge) {
  const Variable var = make_variable({4}, false);
  const auto code = [&](Count start, Count count, Count stride) {
    return code_of([&] { check_selection(var, 0, &start, &count, &stride); });
  };
  EXPECT_EQ(code(0, 2, 3), Errc::ok);
  EXPECT_EQ(code(1, 2, 3), Errc::eedge);
  EXPECT_EQ(code(3, 1, 100), Errc::ok);
  EXPECT_EQ(code(0, 2, 0), Errc::estride);
  EXPECT_EQ(code(0, 5, 0), Errc::eedge);
  EXPECT_EQ(code(0, 0, -1), Errc::estride);
  EXPECT_EQ(code(4, 0, 1), Errc::ok);
  EXPECT_EQ(code(0, 2, INT64_MAX), Errc::eedge);
}

}  // namespace selection_test
}  // namespace forebay
