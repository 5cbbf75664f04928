#include "storage/write_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "storage/gated_file_testing.h"

namespace forebay {
namespace write_queue_test {

using namespace std::chrono_literals;

constexpr Count memory = 64;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}

class WriteQueueTest : public ::testing::Test {
 protected:
  void add(Offset offset, const std::string& text) { queue.add(file, offset, bytes_of(text)); }
  std::string found() const {
    return {reinterpret_cast<const char*>(disk->bytes.data()), disk->bytes.size()};
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  Gated file{"f", disk};
  Report report;
  WriteQueue queue{memory, report};
};

TEST_F(WriteQueueTest, returns_before_bytes_are_written_and_keeps_a_copy) {
  file.shut = true;
  auto bytes = bytes_of("hello");
  queue.add(file, 3, bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{'x'});
  EXPECT_FALSE(queue.is_idle());
  EXPECT_EQ(queue.bytes(), 5);
  EXPECT_TRUE(found().empty());
  file.shut = false;
  queue.drain();
  EXPECT_TRUE(queue.is_idle());
  EXPECT_EQ(found(), std::string(3, '\0') + "hello");
  EXPECT_EQ(report[Counter::bytes_staged], 5);
}

TEST_F(WriteQueueTest, lent_bytes_are_not_copied_and_may_be_waited_for_one_by_one) {
  file.shut = true;
  auto bytes = bytes_of(std::string(2 * memory, 'l'));  // more than copies may take
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 5; ++i) numbers.push_back(queue.lend(file, i * std::ssize(bytes), bytes));
  EXPECT_EQ(queue.bytes(), 0);
  std::fill(bytes.begin(), bytes.end(), std::byte{'m'});  // that they were not copied shows here
  add(10 * memory, "end");
  EXPECT_FALSE(queue.wait_for(numbers[0], 1000));
  file.shut = false;
  for (const std::uint64_t number : numbers) EXPECT_TRUE(queue.wait_for(number, UINT64_MAX));
  queue.drain();
  EXPECT_EQ(found(), std::string(10 * memory, 'm') + "end");
  disk->room = 0;
  const std::uint64_t fails = queue.lend(file, 0, bytes);
  EXPECT_THROW(queue.wait_for(fails, UINT64_MAX), Error);
  EXPECT_TRUE(queue.wait_for(numbers[4], 0));
  queue.drop(file);
  EXPECT_TRUE(queue.wait_for(fails, 0));
  EXPECT_FALSE(queue.has_failed());
}

TEST_F(WriteQueueTest, later_bytes_are_written_later) {
  std::string wanted(15, '\0');
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string text(9, static_cast<char>('a' + i % 26));
    add(static_cast<Offset>(i % 7), text);
    wanted.replace(i % 7, text.size(), text);
  }
  queue.drain();
  EXPECT_EQ(found(), wanted);
}

TEST_F(WriteQueueTest, what_follows_in_the_file_goes_in_one_call) {
  file.shut = true;
  add(0, "ab");
  while (file.began == 0) std::this_thread::sleep_for(100us);
  for (int i = 1; i < 10; ++i) add(2 * i, "ab");
  file.shut = false;
  queue.drain();
  EXPECT_EQ(disk->writes, 2);
  EXPECT_EQ(file.most_pieces, 9U);
}

TEST_F(WriteQueueTest, waits_where_memory_is_full_and_never_holds_more) {
  file.shut = true;
  for (int i = 0; i < 8; ++i) add(8 * i, std::string(8, 'm'));  // the whole memory
  EXPECT_EQ(queue.bytes(), memory);
  std::atomic<bool> begins = false, returned = false;
  std::thread adds([&] {
    begins = true;
    add(64, std::string(300, 'n'));  // in parts
    returned = true;
  });
  while (file.began == 0 || !begins) std::this_thread::sleep_for(100us);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(returned);
  EXPECT_EQ(queue.bytes(), memory);
  file.shut = false;
  adds.join();
  EXPECT_LE(queue.bytes(), memory);
  queue.drain();
  EXPECT_EQ(found(), std::string(64, 'm') + std::string(300, 'n'));
  EXPECT_GT(queue.seconds().waited, 0.01);
  EXPECT_GE(queue.seconds().written, 0.01);
}

// Blocks have 32 bytes here. What does not fit into one goes on in the next.
TEST_F(WriteQueueTest, blocks_of_memory_are_filled_and_used_again_when_what_they_have_is_written) {
  std::string wanted;
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const std::string text(1 + random() % 50, static_cast<char>('a' + i % 26));
    add(std::ssize(wanted), text);
    wanted += text;
    if (random() % 8 == 0) queue.drain();
    // Waiting blocks, one that is partly written, and the one that is being filled.
    EXPECT_LE(queue.blocks(), memory / 32 + 2);
  }
  queue.drain();
  EXPECT_EQ(found(), wanted);
}

// No open file that once had much to write may keep its memory for ever.
TEST_F(WriteQueueTest, a_process_keeps_few_spare_blocks) {
  constexpr Count mib = 1 << 20;
  constexpr int queues = 6;
  const std::string text(16 * mib, 's');
  std::vector<std::unique_ptr<WriteQueue>> all;
  Count blocks = 0;
  for (int i = 0; i < queues; ++i) {
    all.push_back(std::make_unique<WriteQueue>(32 * mib, report));
    file.shut = true;
    for (int part = 0; part < 2; ++part) all.back()->add(file, 0, bytes_of(text));
    EXPECT_GE(all.back()->blocks(), 7);  // after a small one
    file.shut = false;
    all.back()->drain();
    blocks += all.back()->blocks();
  }
  EXPECT_GE(blocks, queues);
  EXPECT_LE(blocks, 64 / 4 + queues);  // and the one that each fills next
  const Count before = blocks;
  for (auto& queue : all) queue.reset();
  WriteQueue next(32 * mib, report);  // the others' memory is given back
  file.shut = true;
  for (int part = 0; part < 2; ++part) next.add(file, 0, bytes_of(text));
  file.shut = false;
  next.drain();
  EXPECT_GE(next.blocks(), 7);
  EXPECT_GT(before, next.blocks());
}

TEST_F(WriteQueueTest, many_small_pieces_count_with_what_they_take) {
  constexpr Count room = 64 << 10;
  WriteQueue small{room, report};
  file.shut = true;
  std::atomic<int> added = 0;
  std::thread adds([&] {
    for (; added < 5000; ++added) small.add(file, 2 * added, bytes_of("x"));
  });
  while (added <= 1024) std::this_thread::sleep_for(100us);
  for (int before = -1; added != before; std::this_thread::sleep_for(50ms)) before = added;
  EXPECT_GT(added, 1024);
  EXPECT_LT(added, 2500);
  EXPECT_LE(small.held(), room);
  file.shut = false;
  adds.join();
  small.drain();
  EXPECT_EQ(std::ssize(found()), 2 * 4999 + 1);
}

TEST_F(WriteQueueTest, what_failed_is_kept_told_and_tried_again) {
  disk->room = 4;
  add(0, "abcd");
  add(10, "efgh");
  add(20, "ijkl");
  const auto failed = attempt_to([&] { queue.drain(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::eno_space);
  EXPECT_TRUE(queue.has_failed());
  EXPECT_FALSE(queue.is_idle());
  EXPECT_EQ(queue.bytes(), 8);
  add(30, "mnop");  // there is room
  EXPECT_TRUE(attempt_to([&] { queue.drain(); }));
  EXPECT_EQ(queue.bytes(), 12);
  disk->room = 100;
  queue.drain();
  EXPECT_FALSE(queue.has_failed());
  EXPECT_EQ(found().substr(10),
            "efgh" + std::string(6, '\0') + "ijkl" + std::string(6, '\0') + "mnop");
}

TEST_F(WriteQueueTest, with_full_memory_and_a_file_that_fails_nobody_waits_for_ever) {
  disk->room = 0;
  const auto failed = attempt_to([&] {
    for (int i = 0; i < 20; ++i) add(8 * i, "12345678");
  });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::eno_space);
  EXPECT_EQ(queue.bytes(), memory);
  disk->room = 1000;
  queue.drain();
  EXPECT_EQ(std::ssize(found()), memory);
}

TEST_F(WriteQueueTest, a_file_that_goes_takes_what_waits_along) {
  Gated other{"g", std::make_shared<MemoryDisk>()};
  file.shut = true;
  add(0, "ab");
  while (file.began == 0) std::this_thread::sleep_for(100us);
  queue.add(other, 0, bytes_of("cd"));
  add(10, "ef");
  std::thread opens([&] {
    std::this_thread::sleep_for(10ms);
    file.shut = false;
  });
  queue.drop(file);  // waits for what is being written
  EXPECT_EQ(found(), "ab");
  queue.drain();
  EXPECT_EQ(other.size(), 2);
  EXPECT_EQ(found(), "ab");
  opens.join();
}

TEST_F(WriteQueueTest, dropping_what_failed_lets_others_go_on) {
  Gated other{"g", std::make_shared<MemoryDisk>()};
  disk->room = 0;
  add(0, "ab");
  queue.add(other, 0, bytes_of("cd"));
  EXPECT_TRUE(attempt_to([&] { queue.drain(); }));
  queue.drop(file);
  queue.drain();
  EXPECT_EQ(other.size(), 2);
}

TEST_F(WriteQueueTest, that_nothing_was_added_costs_no_thread) {
  queue.drain();
  EXPECT_TRUE(queue.is_idle());
  queue.tell();
  EXPECT_EQ(report[Step::write], 0);
}

TEST_F(WriteQueueTest, times_of_the_thread_go_to_the_report) {
  file.shut = true;
  add(0, "ab");
  while (file.began == 0) std::this_thread::sleep_for(100us);
  std::this_thread::sleep_for(10ms);
  file.shut = false;
  queue.drain();
  queue.tell();
  EXPECT_GT(report[Step::write], 0.005);
}

}  // namespace write_queue_test
}  // namespace forebay
