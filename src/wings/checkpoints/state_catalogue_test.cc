#include "checkpoints/state_catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace forebay::checkpoint {
namespace catalogue_test {

StatePtr state_of(StateId id, Tier tier, Count bytes) {
  auto state = std::make_shared<State>();
  state->record.id = id;
  state->record.bytes = bytes;
  state->record.parts = {{"x", Type::uint8, {2 * bytes}, "none", {}}};
  state->tier = tier;
  return state;
}

/// Computes the catalogue's answers by a walk over all states.
struct Model {
  std::map<StateId, StatePtr> all;
  std::vector<Count> expected;

  StatePtr wanted_last(Tier tier) const {
    StatePtr last;
    std::pair<std::ptrdiff_t, Count> when;
    for (const auto& [id, state] : all) {
      if (state->tier != tier || state->busy) continue;
      const auto said = id.kind == Kind::state
                            ? std::find(expected.begin(), expected.end(), id.step)
                            : expected.end();
      const std::pair<std::ptrdiff_t, Count> its{said - expected.begin(), -id.step};
      if (last && its < when) continue;
      last = state;
      when = its;
    }
    return last;
  }
};

void compare(const Catalogue& catalogue, const Model& model) {
  ASSERT_EQ(catalogue.all(), model.all);
  StatePtr latest;
  std::map<Tier, Catalogue::Adjoints> adjoints;
  Count largest = 0;
  std::size_t count = 0;
  for (const auto& [id, state] : model.all) {
    if (id.kind == Kind::state) {
      latest = state;
      ++count;
      continue;
    }
    ++adjoints[state->tier].states;
    adjoints[state->tier].bytes += state->record.bytes;
    largest = std::max(largest, state->raw_bytes());
  }
  EXPECT_EQ(catalogue.latest(), latest);
  EXPECT_EQ(catalogue.count(Kind::state), count);
  EXPECT_EQ(catalogue.count(Kind::adjoint), model.all.size() - count);
  EXPECT_EQ(catalogue.largest_adjoint(), largest);
  for (const Tier tier : {Tier::memory, Tier::fast, Tier::directory}) {
    EXPECT_EQ(catalogue.wanted_last(tier), model.wanted_last(tier));
    EXPECT_EQ(catalogue.adjoints(tier).states, adjoints[tier].states);
    EXPECT_EQ(catalogue.adjoints(tier).bytes, adjoints[tier].bytes);
  }
  const auto expected = [&](std::size_t i) {
    return i < model.expected.size() ? std::optional(model.expected[i]) : std::nullopt;
  };
  EXPECT_EQ(catalogue.expected(), expected(0));
  EXPECT_EQ(catalogue.expected(1), expected(1));
}

TEST(Catalogue, tells_what_a_walk_over_all_states_tells) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](Count n) { return static_cast<Count>(random() % unsigned(n)); };
    Catalogue catalogue;
    Model model;
    for (int call = 0; call < 400; ++call) {
      const StateId id{any(5) == 0 ? Kind::adjoint : Kind::state, any(20)};
      const auto tier = static_cast<Tier>(any(3));
      const StatePtr there = catalogue.find(id);
      ASSERT_EQ(there != nullptr, model.all.contains(id));
      if (!there) {
        const StatePtr state = state_of(id, tier, 1 + any(100));
        catalogue.add(state);
        model.all[id] = state;
      } else if (const Count choice = any(6); choice == 0) {
        catalogue.remove(*there);
        model.all.erase(id);
      } else if (choice == 1) {
        catalogue.move(*there, there->record, tier);
      } else if (choice == 2) {
        there->busy = !there->busy;
      } else if (choice == 3) {
        model.expected.resize(static_cast<std::size_t>(any(9)));
        for (Count& step : model.expected) step = any(20);
        catalogue.expect(model.expected);
      } else {
        const auto at = std::find(model.expected.begin(), model.expected.end(), id.step);
        if (at != model.expected.end()) model.expected.erase(at);
        catalogue.came(id.step);
      }
      compare(catalogue, model);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", call " << call;
    }
  }
}

}  // namespace catalogue_test
}  // namespace forebay::checkpoint
