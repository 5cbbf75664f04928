#include "base/memory_at_hand.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace forebay {
namespace memory_at_hand_test {

namespace fs = std::filesystem;

/// A system in which only a few files exist.
class System : public testing::Test {
 protected:
  System() {
    std::string name = (fs::temp_directory_path() / "forebay-memory-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~System() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

using MemoryAtHand = System;

TEST_F(MemoryAtHand, nothing_is_known_where_the_system_tells_nothing) {
  EXPECT_EQ(memory_at_hand(root_), std::nullopt);
}

TEST_F(MemoryAtHand, is_what_the_machine_has) {
  put("/proc/meminfo", "MemTotal:  9000 kB\nMemFree:  100 kB\nMemAvailable:  1000 kB\n");
  EXPECT_EQ(memory_at_hand(root_), 1000u << 10);
  EXPECT_TRUE(memory_at_hand().has_value());  // of this machine
}

TEST_F(MemoryAtHand, is_bounded_by_a_group_and_those_around_it) {
  put("/proc/meminfo", "MemAvailable:  1000000 kB\n");
  put("/proc/self/cgroup", "0::/job/step\n");
  put("/sys/fs/cgroup/job/step/memory.max", "max\n");
  put("/sys/fs/cgroup/job/step/memory.current", "100\n");
  EXPECT_EQ(memory_at_hand(root_), 1000000u << 10);
  put("/sys/fs/cgroup/job/memory.max", "5000\n");
  put("/sys/fs/cgroup/job/memory.current", "4500\n");
  EXPECT_EQ(memory_at_hand(root_), 500u);
  put("/sys/fs/cgroup/job/memory.stat", "anon 7\nfile 9\ninactive_file 1000\nactive_file 200\n");
  EXPECT_EQ(memory_at_hand(root_), 1700u) << "what caches files can be taken";
  put("/sys/fs/cgroup/job/step/memory.max", "150\n");
  EXPECT_EQ(memory_at_hand(root_), 50u);
  put("/sys/fs/cgroup/job/step/memory.current", "151\n");
  EXPECT_EQ(memory_at_hand(root_), 0u);
}

TEST_F(MemoryAtHand, is_bounded_by_a_container_whose_path_is_that_of_the_host) {
  put("/proc/meminfo", "MemAvailable:  1000000 kB\n");
  put("/proc/self/cgroup", "12:pids:/docker/1f\n5:cpu,memory:/docker/1f\n0::/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1096\n");
  put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 96\n");
  EXPECT_EQ(memory_at_hand(root_), 3096u);
}

}  // namespace memory_at_hand_test
}  // namespace forebay
