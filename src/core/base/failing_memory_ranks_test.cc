#include "base/failing_memory_testing.h"

#ifdef FOREBAY_FAILING_MEMORY

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

namespace forebay {

FailingMemory& FailingMemory::mine() {
  thread_local FailingMemory memory;
  return memory;
}

}  // namespace forebay

namespace {

void* take(std::size_t bytes) {
  auto& mine = forebay::FailingMemory::mine();
  if (mine.armed && mine.left >= 0 && mine.left-- == 0) {
    mine.left = mine.every - 1;
    mine.has_failed = true;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace forebay {
namespace {

TEST(FailingMemory, fails_where_it_is_told_to_and_on_that_thread_alone) {
  auto& mine = FailingMemory::mine();
  mine.begin(1, 2);
  int failed = 0;
  for (int i = 0; i < 5; ++i) {
    try {
      const FailingMemory::Armed armed;
      const std::unique_ptr<int> memory(new int(i));
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  }
  EXPECT_EQ(failed, 2);  // numbers 1 and 3
  EXPECT_TRUE(mine.has_failed);
  std::thread([] { EXPECT_FALSE(FailingMemory::mine().has_failed); }).join();
  mine.begin(-1);
}

}  // namespace
}  // namespace forebay

#endif
