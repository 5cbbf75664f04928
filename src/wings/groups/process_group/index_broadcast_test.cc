// The broadcast of an index: equal properties of many steps take few bytes, and everything else is
// restored.
#include "groups/process_group/index_broadcast.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "groups/format/bp_write.h"

namespace forebay::process_group {
namespace index_broadcast_test {

/// With variables "0", "1", … in the first step.
IndexBroadcast begun(std::size_t variables) {
  IndexBroadcast told;
  told.order(Container::directory, bp::Form::bp4, false);
  told.step(false, 1);
  for (std::size_t v = 0; v < variables; ++v) {
    const bp::Variable variable{std::to_string(v), bp::Type::float64};
    bp::Bytes first;
    bp::Block block{.at = {{}, {}, {4}}, .step = 1, .place = 64, .payload = 128};
    block.has_range = true;
    bp::append_block(first, variable, block, bp::Form::bp4);
    told.variable(variable, first);
  }
  return told;
}

TEST(IndexBroadcast, steps_that_are_alike_take_next_to_nothing) {
  constexpr std::uint32_t steps = 100000;
  IndexBroadcast told = begun(3);
  for (std::uint32_t s = 0; s < steps; ++s) {
    if (s > 0) told.step(false, s + 1);
    const Offset begin = 64 + Offset{s} * 1000;
    told.place(0, "0", {begin, 100});
    if (s % 10 == 0) told.place(1, "1", {begin + 100, 300});
    told.place(2, "2", {begin + 400, 200});
  }
  const auto bytes = told.take();
  EXPECT_LT(bytes.size(), 8 * steps);
  const StoredIndex found = receive_index(bytes);
  ASSERT_EQ(found.times.size(), steps);
  for (const StoredVariable& one : found.variables) EXPECT_EQ(one.steps.stretches().size(), 1U);
  EXPECT_EQ(found.variables[1].steps.size(), steps / 10);
  EXPECT_EQ(found.variables[1].steps[777], 7770U);
  EXPECT_EQ(found.variables[1].steps.find(7770), (EntryPlace{64 + 7770000 + 100, 300}));
  EXPECT_FALSE(found.variables[1].steps.find(7771));
  EXPECT_FALSE(found.variables[1].steps.find(steps));
  EXPECT_EQ(found.variables[2].steps.find(steps - 1),
            (EntryPlace{64 + Offset{steps - 1} * 1000 + 400, 200}));
}

TEST(IndexBroadcast, places_that_follow_no_rule_come_back_as_they_were) {
  std::mt19937 random(7);
  constexpr std::uint32_t steps = 3000;
  constexpr std::size_t variables = 4;
  IndexBroadcast told = begun(variables);
  std::vector<std::map<std::uint32_t, EntryPlace>> all(variables);
  Offset at = 64;
  for (std::uint32_t s = 0; s < steps; ++s) {
    if (s > 0) told.step(false, s + 1);
    for (std::uint32_t v = 0; v < variables; ++v) {
      if (random() % 4 < v) continue;
      const EntryPlace place{at, 100 + static_cast<Count>(random() % 2)};
      told.place(v, std::to_string(v), place);
      all[v][s] = place;
      at += place.bytes + static_cast<Offset>(random() % 3) * 50;
    }
  }
  const StoredIndex found = receive_index(told.take());
  for (std::size_t v = 0; v < variables; ++v) {
    ASSERT_EQ(found.variables[v].steps.size(), all[v].size());
    std::size_t n = 0;
    for (const auto& [step, place] : all[v]) EXPECT_EQ(found.variables[v].steps[n++], step);
    for (std::uint32_t s = 0; s <= steps; ++s) {
      const auto there = all[v].find(s);
      const auto place = found.variables[v].steps.find(s);
      ASSERT_EQ(place.has_value(), there != all[v].end()) << v << " " << s;
      if (place) EXPECT_EQ(*place, there->second) << v << " " << s;
    }
  }
}

TEST(IndexBroadcast, a_variable_is_in_a_step_once) {
  IndexBroadcast told = begun(1);
  told.place(0, "T", {64, 100});
  const auto twice = attempt_to([&] { told.place(0, "T", {164, 100}); });
  ASSERT_TRUE(twice);
  EXPECT_NE(twice->message().find("variable T is twice"), std::string::npos) << twice->message();
}

}  // namespace index_broadcast_test
}  // namespace forebay::process_group
