#include "dataset/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "base/failing_memory_testing.h"

namespace forebay {
namespace request_queue_test {

/// Returns a request that differs from others in every member.
Request request_of(int number, const std::shared_ptr<const RunList>& runs = {}) {
  Request request;
  request.var = number;
  if (runs)
    request.selection = Runs{runs, number};
  else  // has memory of its own if it has many dimensions
    request.selection = Subarray{Counts(static_cast<std::size_t>(number % 7), number),
                                 Counts(static_cast<std::size_t>(number % 7), 1),
                                 {}};
  request.staging = std::make_unique<std::byte[]>(sizeof number);
  std::memcpy(request.staging.get(), &number, sizeof number);
  return request;
}

void expect_whole(const Request& request, int number) {
  ASSERT_EQ(request.var, number);
  int kept = -1;
  std::memcpy(&kept, request.staging.get(), sizeof kept);
  ASSERT_EQ(kept, number);
  if (const auto* box = std::get_if<Subarray>(&request.selection))
    ASSERT_EQ(box->start, Counts(static_cast<std::size_t>(number % 7), number));
  else
    ASSERT_EQ(std::get<Runs>(request.selection).base, number);
}

int post(RequestQueue& queue, Request&& request) {
  queue.make_room();
  return queue.add(std::move(request));
}

TEST(RequestQueue, ids_begin_again_once_nothing_is_pending) {
  RequestQueue queue(1);
  EXPECT_EQ(post(queue, request_of(0)), 1);
  EXPECT_EQ(post(queue, request_of(1)), 3);
  queue.take(*queue.find(1));
  queue.settle();
  EXPECT_EQ(post(queue, request_of(2)), 5);
  queue.take(*queue.find(5));
  queue.take(*queue.find(3));
  queue.settle();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(post(queue, request_of(3)), 1);
  EXPECT_EQ(queue.take_all().size(), 1U);
  EXPECT_EQ(post(queue, request_of(4)), 1);
}

TEST(RequestQueue, what_is_not_pending_is_not_found) {
  RequestQueue queue(0);
  for (const int id : {0, 2, -1, -2}) EXPECT_FALSE(queue.find(id)) << id;
  for (int i = 0; i < 3; ++i) post(queue, request_of(i));
  queue.take(*queue.find(2));
  for (const int id : {-3, -2, -1, 2, 6, 8, std::numeric_limits<int>::max()})
    EXPECT_FALSE(queue.find(id)) << id;
  queue.settle();
  EXPECT_FALSE(queue.find(2));
  EXPECT_TRUE(queue.find(0));
  EXPECT_TRUE(queue.find(4));
}

// Compares with a map. Small lists shrink and grow hundreds of times.
TEST(RequestQueue, any_of_them_can_be_taken_at_any_time) {
  enum Order { oldest, newest, any };
  for (const Order order : {oldest, newest, any}) {
    std::mt19937 random(7 + static_cast<unsigned>(order));
    RequestQueue queue(0);
    std::map<int, int> pending;  // id: number
    int number = 0, taken = 0, bounded = 0;
    for (int round = 0; round < 40; ++round) {
      for (auto n = random() % 200; n > 0; --n, ++number)
        ASSERT_TRUE(pending.emplace(post(queue, request_of(number)), number).second);
      for (auto n = random() % 250; n > 0 && !pending.empty(); --n, ++taken) {
        auto one = order == newest ? std::prev(pending.end()) : pending.begin();
        if (order == any) std::advance(one, static_cast<std::ptrdiff_t>(random() % pending.size()));
        const auto [id, its] = *one;
        const auto at = queue.find(id);
        ASSERT_TRUE(at) << id;
        expect_whole(queue.take(*at), its);
        ASSERT_FALSE(queue.find(id)) << id;
        pending.erase(one);
        if (random() % 3 == 0) queue.settle();
      }
      queue.settle();
      ASSERT_EQ(queue.size(), pending.size());
      bounded += queue.room() <= 4 * pending.size() + 128;
      for (const auto& [id, its] : pending) ASSERT_TRUE(queue.find(id)) << id;
    }
    EXPECT_GT(taken, 2000);
    EXPECT_EQ(bounded, 40) << "memory is bounded by what is pending";
    const RequestList rest = queue.take_all();
    ASSERT_EQ(rest.size(), pending.size());
    auto next = pending.begin();
    for (const Request& request : rest) expect_whole(request, (next++)->second);
  }
}

// A long list's memory is remapped, by any number of pages.
TEST(RequestQueue, a_long_list_grows_with_all_that_its_requests_hold) {
  const auto runs = std::make_shared<const RunList>();
  constexpr int many = 60'000;
  RequestQueue queue(0);
  for (int i = 0; i < many; ++i)
    ASSERT_EQ(post(queue, request_of(i, i % 2 == 0 ? runs : nullptr)), 2 * i);
  EXPECT_EQ(runs.use_count(), 1 + many / 2);
  for (int i = 0; i < many; ++i) {  // one by one, from the oldest on
    expect_whole(queue.take(*queue.find(2 * i)), i);
    queue.settle();
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_LE(queue.room(), 64U) << "memory of a long list is given back";
  EXPECT_GT(queue.room(), 0U) << "that of a short one serves the next round";
  EXPECT_EQ(post(queue, request_of(0)), 0);
  queue.take(*queue.find(0));
  queue.settle();
  EXPECT_EQ(runs.use_count(), 1);
}

#ifdef FOREBAY_FAILING_MEMORY
TEST(RequestQueue, a_list_that_cannot_grow_is_what_it_was) {
  RequestList list;
  for (int i = 0; i < 100; ++i) {
    list.make_room();
    list.add(request_of(i));
  }
  const std::size_t room = list.room();
  EXPECT_THROW(list.reserve(std::numeric_limits<std::ptrdiff_t>::max() / sizeof(Request)),
               std::bad_alloc);
  EXPECT_EQ(list.room(), room);
  ASSERT_EQ(list.size(), 100U);
  for (int i = 0; i < 100; ++i) expect_whole(list[static_cast<std::size_t>(i)], i);
}
#endif

}  // namespace request_queue_test
}  // namespace forebay
