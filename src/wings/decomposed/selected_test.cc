#include "decomposed/selected.h"

#include <gtest/gtest.h>

namespace forebay::decomposed {
namespace selected_test {

Variable variable(std::vector<Count> shape, bool record, Type type = Type::float32) {
  Variable var;
  var.name = "v";
  var.type = type;
  var.shape = std::move(shape);
  var.is_record = record;
  var.dimids.resize(var.shape.size());
  var.inner_elements = 1;
  for (std::size_t d = record ? 1 : 0; d < var.shape.size(); ++d)
    var.inner_elements *= var.shape[d];
  return var;
}

Request request(const Variable& var, const std::vector<forebay::Run>& runs,
                const std::vector<Offset>& memory = {}) {
  Request r;
  r.write = true;
  r.element_size = static_cast<int>(size_of(var.type));
  RunList list;
  for (const Run& run : runs) {
    list.runs.push_back({run.offset * r.element_size, run.length * r.element_size});
    list.bytes += list.runs.back().length;
  }
  for (const Offset at : memory) list.memory.push_back(at * r.element_size);
  r.elements = list.bytes / r.element_size;
  r.selection = Runs{std::make_shared<const RunList>(std::move(list))};
  return r;
}

TEST(Selected, equal_selections_of_other_types_and_records_are_one_pattern) {
  Selector selector(1 << 20);
  const Variable records = variable({0, 4, 10}, true),
                 fixed = variable({4, 10}, false, Type::float64);
  const auto a = selector.parts_of(request(records, {{83, 2}, {88, 1}}), records);
  const auto b = selector.parts_of(request(fixed, {{3, 2}, {8, 1}}), fixed);
  ASSERT_EQ(a.size(), 1U);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_EQ(a[0].record, 2);
  EXPECT_EQ(b[0].record, 0);
  EXPECT_EQ(a[0].what->key, b[0].what->key);
  EXPECT_EQ(a[0].what->pattern, b[0].what->pattern);
}

TEST(Selected, a_request_over_records_is_cut_at_them) {
  Selector selector(1 << 20);
  const Variable var = variable({0, 10}, true);
  const auto parts = selector.parts_of(request(var, {{8, 14}, {31, 2}}), var);
  ASSERT_EQ(parts.size(), 4U);
  const Count records[] = {0, 1, 2, 3}, elements[] = {2, 10, 2, 2}, memory[] = {0, 2, 12, 14};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].record, records[i]);
    EXPECT_EQ(parts[i].what->elements, elements[i]);
    EXPECT_EQ(parts[i].memory, memory[i]);
  }
}

TEST(Selected, levels_times_columns_are_recognised) {
  const std::vector<Count> inner = {3, 10};
  std::vector<forebay::Run> runs;
  for (Count level = 0; level < 3; ++level)
    for (const Count column : {1, 4, 8}) runs.push_back({level * 10 + column, 1});
  const Pattern pattern = factored(inner, runs);
  EXPECT_EQ(pattern.outer.size(), 2U);
  EXPECT_EQ(pattern.runs.size(), 3U);
  EXPECT_EQ(pattern.elements(), 9);
  EXPECT_FALSE(fault_of(pattern));
  runs.back().offset += 1;
  EXPECT_EQ(factored(inner, runs).runs.size(), 9U);
}

// Each list has one fault: a run that goes on in the next level, one at another place, a shorter
// one, and a missing level.
TEST(Selected, what_differs_between_levels_is_no_dimension) {
  Selector selector(1 << 20);
  const Variable var = variable({0, 4, 10}, true);
  const std::vector<std::vector<forebay::Run>> all = {{{2, 1}, {8, 3}, {12, 1}, {18, 3}},
                                                      {{1, 2}, {8, 1}, {11, 2}, {19, 1}},
                                                      {{1, 2}, {8, 1}, {11, 1}, {18, 1}},
                                                      {{1, 2}, {8, 1}, {21, 2}, {28, 1}}};
  for (const auto& runs : all) {
    const auto parts = selector.parts_of(request(var, runs), var);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_TRUE(parts[0].what->pattern.outer.empty());
    EXPECT_EQ(parts[0].what->pattern.runs.size(), runs.size());
  }
}

TEST(Selected, memory_out_of_order_is_gathered) {
  Selector selector(1 << 20);
  const Variable var = variable({20}, false);
  const auto parts = selector.parts_of(request(var, {{2, 3}, {9, 2}}, {2, 0}), var);
  ASSERT_EQ(parts.size(), 1U);
  std::vector<std::pair<Count, Count>> seen;
  each_in_memory(*parts[0].what, 1, 3, [&](Count memory, Count count) {
    seen.emplace_back(parts[0].memory + memory, count);
  });
  EXPECT_EQ(seen, (std::vector<std::pair<Count, Count>>{{3, 2}, {0, 1}}));
}

TEST(Selected, elements_that_a_read_asks_for_twice_make_parts_of_their_own) {
  Selector selector(1 << 20);
  const Variable var = variable({20}, false);
  const auto parts = selector.parts_of(request(var, {{2, 6}, {4, 2}, {9, 1}}), var);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].what->elements, 7);
  EXPECT_EQ(parts[1].what->elements, 2);
  EXPECT_EQ(parts[1].memory, 6);
}

// Cuts down to single elements, in order, with their memory.
TEST(Selected, halves_have_all_elements_in_order) {
  Selector selector(1 << 20);
  const Variable var = variable({5, 12}, false);
  std::vector<forebay::Run> runs;
  std::vector<Offset> memory;
  for (Count row = 0; row < 5; ++row)
    for (const Count column : {0, 3, 4, 9}) {
      runs.push_back({row * 12 + column, 1});
      memory.push_back(19 - static_cast<Count>(memory.size()));
    }
  for (const bool gathered : {false, true}) {
    const auto part =
        selector.parts_of(request(var, runs, gathered ? memory : std::vector<Offset>()), var)[0];
    std::vector<Count> order;
    const std::function<void(const Part&)> walk = [&](const Part& whole) {
      const Selected& what = *whole.what;
      if (what.elements == 1) {
        each_in_memory(what, 0, 1, [&](Count at, Count) { order.push_back(whole.memory + at); });
        return;
      }
      Count elements = 0;
      for (const Part& half : halves_of(whole)) {
        EXPECT_FALSE(fault_of(half.what->pattern));
        elements += half.what->elements;
        walk(half);
      }
      EXPECT_EQ(elements, what.elements);
    };
    walk(part);
    ASSERT_EQ(order.size(), 20U);
    for (Count i = 0; i < 20; ++i)
      EXPECT_EQ(order[static_cast<std::size_t>(i)], gathered ? 19 - i : i);
  }
}

TEST(Selected, small_writes_put_together_keep_the_last_of_each_element) {
  Selector selector(1 << 20);
  const Variable var = variable({20}, false);
  std::vector<Part> parts;
  std::vector<Count> begins;
  Count at = 0;
  for (const forebay::Run run : {forebay::Run{2, 4}, forebay::Run{10, 1}, forebay::Run{3, 2}}) {
    parts.push_back(selector.parts_of(request(var, std::vector<forebay::Run>{run}), var)[0]);
    begins.push_back(at);
    at += run.length;
  }
  const auto all = selector.joined(parts, var, begins);
  EXPECT_EQ(all->elements, 5);
  std::vector<Count> memory;
  each_in_memory(*all, 0, 5, [&](Count from, Count count) {
    for (Count i = 0; i < count; ++i) memory.push_back(from + i);
  });
  EXPECT_EQ(memory, (std::vector<Count>{0, 5, 6, 3, 4}));
}

}  // namespace selected_test
}  // namespace forebay::decomposed
