// The cost of pushes and pops, in visited entries and written bytes. The cost of each is the same,
// whatever the number of states.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "checkpoints/checkpoint_store.h"
#include "checkpoints/checkpoint_store_testing.h"

namespace forebay::checkpoint {
namespace store_cost_test {

/// One small variable.
class Small {
 public:
  Small(const Folder& folder, Count memory, Count fast = -1)
      : store({}, "run", folder.method(memory, fast)) {
    store.add_variable("x", Type::float64, {8}, {}, values_.data());
  }
  void push(Count step) {
    values_[0] = static_cast<double>(step);
    store.push({Kind::state, step});
  }
  void pop(Count step) {
    ASSERT_EQ(store.pop(), step);
    ASSERT_EQ(values_[0], static_cast<double>(step));
  }
  void peek(Count step) {
    store.peek({Kind::state, step});
    ASSERT_EQ(values_[0], static_cast<double>(step));
  }
  Store store;

 private:
  std::vector<double> values_ = std::vector<double>(8);
};

using Sweep = std::function<void(Small&, Count n)>;

void push_all(Small& to, Count n) {
  for (Count step = 0; step < n; ++step) to.push(step);
}
void pop_all(Small& from, Count n) {
  while (n-- > 0) from.pop(n);
}

/// Checks that n states cost at most `entries` visited entries and `bytes` journal bytes each.
void expect_flat(const std::string& what, Count memory, Count fast, const Sweep& sweep,
                 Count entries, Count bytes) {
  for (const Count n : {500, 4000}) {
    const Folder folder;
    Small small(folder, memory, fast);
    sweep(small, n);
    const Store::Work work = small.store.work_done();
    EXPECT_LE(work.looked_at, entries * n) << what << ", " << n;
    EXPECT_LE(work.journal_bytes, bytes * n) << what << ", " << n;
    small.store.close(false);
  }
}

TEST(CheckpointCost, a_push_and_a_pop_cost_the_same_whatever_is_there) {
  const Sweep back_and_forth = [](Small& small, Count n) {
    push_all(small, n);
    pop_all(small, n);
  };
  const std::vector<std::pair<Count, Count>> tiers{
      {1 << 30, -1}, {0, -1}, {0, 6400}, {6400, -1}, {6400, 6400}};
  for (const auto& [memory, fast] : tiers) {
    const std::string what = std::to_string(memory) + ", " + std::to_string(fast);
    const bool in_memory = memory > 1 << 20;
    expect_flat(what, memory, fast, back_and_forth, 60, in_memory ? 1 : 700);
  }
}

TEST(CheckpointCost, what_is_expected_costs_no_more) {
  const Sweep expected = [](Small& small, Count n) {
    push_all(small, n);
    std::vector<Count> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    small.store.expect(order);
    for (const Count step : order) {
      small.peek(step);
      small.push(n + step);  // memory is full: the thread moves the state wanted last
      small.store.drop({Kind::state, n + step});
    }
  };
  for (const Count memory : {0, 6400}) expect_flat("expected", memory, -1, expected, 80, 900);
}

TEST(CheckpointCost, a_sync_looks_at_what_is_in_memory) {
  const Sweep syncs = [](Small& small, Count n) {
    for (Count step = 0; step < n; ++step) {
      small.push(step);
      if (step % 10 == 9) small.store.sync();
    }
  };
  expect_flat("sync", 1 << 20, -1, syncs, 60, 300);
}

TEST(CheckpointCost, states_of_the_adjoint_cost_no_more) {
  const Sweep adjoints = [](Small& small, Count n) {
    for (Count step = 0; step < n; ++step) {
      small.push(step);
      small.store.begin_write({Kind::adjoint, step});
      small.store.put(0, std::vector<double>(8).data());
      small.store.end();
      ASSERT_EQ(small.store.count(Kind::adjoint), static_cast<std::size_t>(step) + 1);
      ASSERT_TRUE(small.store.has({Kind::adjoint, step}));
      ASSERT_EQ(small.store.last(), step);
      ASSERT_EQ(small.store.first(Kind::adjoint), 0);
    }
  };
  expect_flat("adjoint", 0, -1, adjoints, 60, 300);
}

TEST(CheckpointCost, what_a_schedule_asks_costs_no_more) {
  const Sweep asks = [](Small& small, Count n) {
    std::uint64_t marks = 0;
    for (Count step = 0; step < n; ++step) {
      small.push(step);
      const Store::OfModel there = small.store.of_model(n);
      ASSERT_EQ(there.states.back().step, step);
      ASSERT_EQ(there.states.front().step, 0);
      ASSERT_NE(std::exchange(marks, there.mark), there.mark);
      ASSERT_FALSE(there.has_encoded);
    }
    small.store.drop({Kind::state, n - 1});
    const auto mark = small.store.of_model(n).mark;
    small.push(n - 1);
    ASSERT_EQ(small.store.of_model({}).mark, marks);
    ASSERT_NE(mark, marks);
    ASSERT_EQ(std::ssize(small.store.of_model({}).states), n);
  };
  expect_flat("a schedule", 1 << 30, -1, asks, 120, 1);
}

// The obsolete part of the journal is no longer than the valid part.
TEST(CheckpointCost, a_journal_is_no_longer_than_twice_what_it_tells) {
  const Folder folder;
  Small small(folder, 0);
  constexpr Count n = 3000;
  push_all(small, n);
  const auto length = [&] {
    return std::filesystem::file_size(folder.path / "slow/run.0.journal");
  };
  const auto full = length();
  for (int round = 0; round < 5; ++round) {
    pop_all(small, n);
    EXPECT_LE(length(), (64U << 10) + 100);
    push_all(small, n);
    EXPECT_LE(length(), full + (64U << 10) + 100);
  }
  small.store.close(true);
  Small again(folder, 0);
  pop_all(again, n);
  again.store.close(false);
}

}  // namespace store_cost_test
}  // namespace forebay::checkpoint
