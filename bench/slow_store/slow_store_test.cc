// That the library for LD_PRELOAD really slows system calls down: this program starts itself with
// it as one or more clients of a store and looks at the time they took and at what the store
// counted. Times have lower bounds only, since any machine may be slower than it should be.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "slow_store/slow_store_model.h"

namespace {

using forebay::bench::SlowStoreState;
namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1 << 20;

double seconds_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double processor_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What clients do, by name; returns an exit code.
int be_client(const std::string& task, const char* path, off_t first) {
  const int fd = ::open(path, O_RDWR | O_CREAT, 0666);
  std::vector<char> block(4 * kMiB, 'x');
  iovec pieces[2] = {{block.data(), 100}, {block.data() + 200, 100}};
  bool good = fd >= 0;
  if (task == "every-call") {
    good = good && ::write(fd, block.data(), 400) == 400 && ::writev(fd, pieces, 2) == 200;
    good = good && ::pwrite(fd, block.data(), 100, 600) == 100;
    good = good && ::pwritev(fd, pieces, 2, 700) == 200;
    good = good && ::lseek(fd, 0, SEEK_SET) == 0 && ::read(fd, block.data(), 300) == 300;
    good = good && ::readv(fd, pieces, 2) == 200 && ::pread(fd, block.data(), 100, 500) == 100;
    good = good && ::preadv(fd, pieces, 2, 600) == 200;
  } else if (task == "large") {
    good = good && ::pwrite(fd, block.data(), block.size(), first) == ssize_t(block.size());
  } else if (task == "small") {
    for (int i = 0; i < 10 && good; ++i)
      good = ::pwrite(fd, block.data(), 10, first + 100 * i) == 10;
  } else if (task == "reopen") {
    // The same descriptor for another file: the verdict on it must not stay.
    good = good && ::close(fd) == 0;
    const int again = ::open("/dev/null", O_RDWR);
    good = good && again == fd && ::write(again, block.data(), 10) == 10;
  }
  return good ? 0 : 1;
}

class SlowStore : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("forebay-slow-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "slow");
    fs::create_directories(folder_ / "slower");
    state_path_ = folder_ / "state";
    const int fd = ::open(state_path_.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(::ftruncate(fd, sizeof(SlowStoreState)), 0);
    void* at = ::mmap(nullptr, sizeof(SlowStoreState), PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(at, MAP_FAILED);
    state_ = static_cast<const SlowStoreState*>(at);
    ::close(fd);
  }
  void TearDown() override {
    ::munmap(const_cast<SlowStoreState*>(state_), sizeof(SlowStoreState));
    fs::remove_all(folder_);
  }

  struct Client {
    std::string task, file;
    off_t first = 0;
  };

  // Runs the clients at the same time; seconds from the first one's start to the last one's end.
  double run(const std::vector<Client>& clients, const std::vector<std::string>& settings) {
    std::vector<pid_t> started;
    const double begin = seconds_now();
    for (const Client& client : clients) {
      const pid_t pid = ::fork();
      if (pid == 0) become(client, settings);
      started.push_back(pid);
    }
    for (const pid_t pid : started) {
      int status = -1;
      rusage usage{};
      ::wait4(pid, &status, 0, &usage);
      EXPECT_EQ(status, 0);
      processor_ += processor_seconds(usage);
    }
    return seconds_now() - begin;
  }

  [[noreturn]] void become(const Client& client, const std::vector<std::string>& settings) {
    ::setenv("LD_PRELOAD", FOREBAY_SLOW_STORE_LIBRARY, 1);
    ::setenv("FOREBAY_SLOW_STORE_DIR", (folder_ / "slow").c_str(), 1);
    ::setenv("FOREBAY_SLOW_STORE_STATE", state_path_.c_str(), 1);
    for (const std::string& setting : settings) {
      const auto equals = setting.find('=');
      ::setenv(("FOREBAY_SLOW_STORE_" + setting.substr(0, equals)).c_str(),
               setting.substr(equals + 1).c_str(), 1);
    }
    const std::string path = folder_ / client.file, first = std::to_string(client.first);
    ::execl("/proc/self/exe", "client", "--as-client", client.task.c_str(), path.c_str(),
            first.c_str(), nullptr);
    ::_exit(127);
  }

  fs::path folder_;
  std::string state_path_;
  const SlowStoreState* state_ = nullptr;
  double processor_ = 0;
};

TEST_F(SlowStore, every_kind_of_call_takes_the_latency_asleep) {
  EXPECT_GE(run({{"every-call", "slow/a"}}, {"LATENCY_US=20000"}), 8 * 0.020);
  EXPECT_EQ(state_->counters.writes, 4U);
  EXPECT_EQ(state_->counters.written, 900U);
  EXPECT_EQ(state_->counters.reads, 4U);
  EXPECT_EQ(state_->counters.read, 800U);
  EXPECT_LT(processor_, 0.08) << "waits must sleep";
}

TEST_F(SlowStore, clients_share_the_bandwidth) {
  const double seconds =
      run({{"large", "slow/a"}, {"large", "slow/a", 4 * kMiB}}, {"BYTES_PER_SECOND=41943040"});
  EXPECT_GE(seconds, 0.2) << "8 MiB at 40 MiB/s";
  EXPECT_EQ(state_->counters.written, 8 * kMiB);
}

TEST_F(SlowStore, clients_that_take_turns_on_a_stripe_pay_for_the_switch) {
  const std::vector<std::string> settings = {"LATENCY_US=1000", "SWITCH_US=20000"};
  const double seconds = run({{"small", "slow/a"}, {"small", "slow/a", 50}}, settings);
  const auto switches = state_->counters.switches;
  EXPECT_GE(switches, 1U);
  EXPECT_GE(seconds, 0.020 * static_cast<double>(switches));
  run({{"small", "slow/b"}, {"small", "slow/b", 8 * kMiB}}, settings);
  EXPECT_EQ(state_->counters.switches, switches) << "each had its own stripe";
}

TEST_F(SlowStore, files_elsewhere_are_left_alone) {
  run({{"small", "slower/a"}, {"small", "a"}, {"reopen", "slow/a"}}, {"LATENCY_US=1000"});
  EXPECT_EQ(state_->counters.writes, 0U);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--as-client") {
    return be_client(argv[2], argv[3], std::atol(argv[4]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
