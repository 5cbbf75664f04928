// What GroupFile::sync() brings to the device: files of steps, and logs that steps have left.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/thread_ranks.h"
#include "groups/records/group_file.h"
#include "method/groups.h"

namespace {

/// Paths of files and folders that were synced to the device.
std::mutex synced_mutex;
std::set<std::filesystem::path> synced;

}  // namespace

// Replaces the C library's function.
extern "C" int fsync(int fd) {
  char name[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (readlink(link.c_str(), name, sizeof name - 1) > 0) {
    const std::lock_guard lock(synced_mutex);
    synced.insert(name);
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace forebay {
namespace group_sync_ranks_test {

namespace fs = std::filesystem;

constexpr int ranks = 2;

class GroupSyncRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::canonical(testing::TempDir()) / ("forebay_synced_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "logs");
    group_ = define_group("g", "C");
    define_variable(
        group_, {.name = "T", .type = "double", .dimensions = "1", .global = "2", .offsets = "0"});
  }
  void TearDown() override { fs::remove_all(folder_); }

  Method method(const std::string& hints) const {
    Method method;
    method.burst_directory = folder_ / "logs";
    apply_hints(method, hints, "the test");
    return method;
  }
  std::unique_ptr<GroupFile> open(const Comm& comm, const Method& method, bool append) const {
    return GroupFile::create(comm, folder_ / "run.bp", group_, method, append);
  }
  static void write_step(const Comm& comm, GroupFile& file) {
    const std::int64_t all = ranks, at = comm.rank(), one = 1;
    const double value = 7;
    file.write_box("T", {&all, &at, &one}, &value, false);
    file.end_step();
  }
  /// Collective. Returns a file with one step more than an earlier opening left, which had other
  /// data files.
  std::unique_ptr<GroupFile> with_earlier_files(const Comm& comm) const {
    auto file = open(comm, method("subfiling=ranks;subfile_ranks=1"), false);
    write_step(comm, *file);
    file->close();
    file = open(comm, method("subfiling=none"), true);
    write_step(comm, *file);
    return file;
  }
  /// Collective. Syncs the file. Returns the synced paths, relative to the test's folder, on all
  /// ranks.
  std::set<std::string> sync(const Comm& comm, GroupFile& file) const {
    comm.barrier();
    if (comm.is_root()) {
      const std::lock_guard lock(synced_mutex);
      synced.clear();
    }
    comm.barrier();
    file.sync();
    comm.barrier();
    std::set<std::string> paths;
    {
      const std::lock_guard lock(synced_mutex);
      for (const fs::path& path : synced) paths.insert(path.lexically_relative(folder_).string());
    }
    comm.barrier();
    return paths;
  }
  static std::size_t logs_in(const std::set<std::string>& paths, const std::string& ending) {
    std::size_t found = 0;
    for (const std::string& path : paths)
      if (path.starts_with("logs/") && path.ends_with(ending)) ++found;
    return found;
  }

  fs::path folder_;
  GroupDefinition group_;
};

// Otherwise a power failure could bring back what the logs had before the sync.
TEST_F(GroupSyncRanks, sync_waits_for_logs_that_dropped_steps) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm, method("stage=burst;subfiling=none"), false);
    write_step(comm, *file);
    const auto first = sync(comm, *file);
    EXPECT_EQ(logs_in(first, ".records"), std::size_t{ranks});
    EXPECT_EQ(logs_in(first, ".data"), std::size_t{ranks});
    for (const char* const path :
         {"run.bp/data.0", "run.bp/md.0", "run.bp/md.idx", "run.bp", ".", "run.bp.staging"})
      EXPECT_TRUE(first.contains(path)) << path;
    const auto second = sync(comm, *file);  // nothing was dropped since
    EXPECT_EQ(logs_in(second, ""), 0U);
    file->close();
  });
}

// An earlier job may have ended without a sync, with other data files.
TEST_F(GroupSyncRanks, sync_covers_data_files_of_earlier_openings) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = with_earlier_files(comm);
    const auto first = sync(comm, *file);
    for (const char* const path : {"data.0", "data.1", "md.0", "md.idx"})
      EXPECT_TRUE(first.contains(std::string("run.bp/") + path)) << path;
    EXPECT_FALSE(sync(comm, *file).contains("run.bp/data.1"));  // nobody has written to it since
    file->close();
  });
}

TEST_F(GroupSyncRanks, sync_follows_a_directory_that_was_renamed) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = with_earlier_files(comm);
    if (comm.is_root()) {
      fs::rename(folder_ / "run.bp", folder_ / "moved.bp");
      fs::create_directory(folder_ / "run.bp");
      std::ofstream(folder_ / "run.bp" / "data.1") << "another's";
    }
    const auto synced_now = sync(comm, *file);
    for (const char* const path : {"data.0", "data.1", "md.0", "md.idx"})
      EXPECT_TRUE(synced_now.contains(std::string("moved.bp/") + path)) << path;
    for (const char* const path : {"moved.bp", "."}) EXPECT_TRUE(synced_now.contains(path)) << path;
    for (const char* const path : {"run.bp/data.1", "run.bp"})
      EXPECT_FALSE(synced_now.contains(path)) << path;
    file->close();
  });
}

}  // namespace group_sync_ranks_test
}  // namespace forebay
