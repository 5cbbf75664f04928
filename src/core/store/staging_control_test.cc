// The control file: its content, whether the job is alive, and how much of a damaged file is used.
#include "store/staging_control.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "support/cases.h"

namespace forebay {
namespace staging_control_test {

class StagingControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "forebay_control_" + std::to_string(::getpid());
    std::filesystem::create_directories(directory_);
    info_.session = 0x0123456789abcdef;
    info_.ranks = 7;
    info_.directory = "/dev/shm/with a blank,\nand a \\";
    info_.file = directory_ + "/a.nc";
    path_ = StagingControl::path_of(info_.file);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Makes a control file like a job that is dead now.
  void leave() {
    auto control = StagingControl::create(info_);
    control->set_flushed(41);
  }
  std::string load() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void save(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  template <typename F>
  Errc fault(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      message_ = error.what();
      return error.code();
    }
    return Errc::ok;
  }

  StagingInfo info_;
  std::string directory_, path_, message_;
};

TEST_F(StagingControlTest, tells_what_was_put_in) {
  EXPECT_EQ(path_, std::filesystem::canonical(directory_).string() + "/a.nc.staging");
  EXPECT_FALSE(StagingControl::read(path_));
  leave();
  const auto found = StagingControl::read(path_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->begun_only);
  EXPECT_EQ(found->info.session, info_.session);
  EXPECT_EQ(found->info.ranks, 7);
  EXPECT_FALSE(found->info.per_node);
  EXPECT_EQ(found->info.directory, info_.directory);
  EXPECT_EQ(found->info.file, info_.file);
  EXPECT_EQ(found->info.pid, ::getpid());
  EXPECT_EQ(found->info.flushed, 41u);
  EXPECT_FALSE(found->info.closed);
}

TEST_F(StagingControlTest, is_found_through_a_symbolic_link) {
  std::ofstream(info_.file) << "x";
  std::filesystem::create_symlink(info_.file, directory_ + "/link.nc");
  EXPECT_EQ(StagingControl::path_of(directory_ + "/link.nc"), path_);
}

// Otherwise nobody would find it once the file exists.
TEST_F(StagingControlTest, of_a_link_to_a_file_that_is_not_there_yet_is_the_files) {
  std::filesystem::create_symlink("a.nc", directory_ + "/link.nc");
  EXPECT_EQ(StagingControl::path_of(directory_ + "/link.nc"), path_);
}

TEST_F(StagingControlTest, of_the_longest_name_there_is_none) {
  EXPECT_FALSE(
      StagingControl::read(StagingControl::path_of(directory_ + "/" + std::string(255, 'n'))));
}

TEST_F(StagingControlTest, job_of_this_process_is_alive_until_it_lets_go) {
  auto control = StagingControl::create(info_);
  EXPECT_EQ(StagingControl::read(path_)->job, Liveness::alive);
  EXPECT_EQ(fault([&] { StagingControl::create(info_); }), Errc::eperm);
  EXPECT_NE(message_.find("process " + std::to_string(::getpid())), std::string::npos) << message_;
  EXPECT_EQ(fault([&] { StagingControl::take_over(path_); }), Errc::eperm);
  control.reset();
  EXPECT_EQ(StagingControl::read(path_)->job, Liveness::dead);
  EXPECT_EQ(fault([&] { StagingControl::create(info_); }), Errc::ebadlog);
}

TEST_F(StagingControlTest, job_of_another_process_is_dead_when_it_was_killed) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto control = StagingControl::create(info_);
    control->set_flushed(3);
    [[maybe_unused]] auto n = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto found = StagingControl::read(path_);
  EXPECT_EQ(found->job, Liveness::alive);
  EXPECT_EQ(found->info.pid, child);
  EXPECT_EQ(fault([&] { StagingControl::take_over(path_); }), Errc::eperm);
  ::kill(child, SIGKILL);
  int status;
  ::waitpid(child, &status, 0);
  found = StagingControl::read(path_);
  EXPECT_EQ(found->job, Liveness::dead);
  EXPECT_EQ(found->info.flushed, 3u);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StagingControlTest, taking_over_locks_and_goes_on) {
  leave();
  auto control = StagingControl::take_over(path_);
  ASSERT_TRUE(control);
  EXPECT_EQ(control->info().flushed, 41u);
  EXPECT_EQ(StagingControl::read(path_)->job, Liveness::alive);
  control->set_closed(42);
  EXPECT_TRUE(StagingControl::read(path_)->info.closed);
  EXPECT_EQ(StagingControl::read(path_)->info.flushed, 42u);
  control->remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(StagingControl::take_over(path_));
  control->remove();  // gone already: no error
}

// The first byte is written last.
TEST_F(StagingControlTest, one_that_was_never_whole_tells_nothing_and_is_overwritten) {
  leave();
  const std::string whole = load();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::string part = whole.substr(0, size);
    if (size > 0) part[0] = '\0';
    save(part);
    const auto found = StagingControl::read(path_);
    ASSERT_TRUE(found && found->begun_only) << size;
    EXPECT_EQ(found->job, Liveness::dead);
  }
  auto control = StagingControl::create(info_);
  EXPECT_EQ(StagingControl::read(path_)->info.session, info_.session);
}

TEST_F(StagingControlTest, every_flipped_bit_is_found) {
  leave();
  const std::string whole = load();
  const std::size_t bits = 8 * whole.size();
  for (std::size_t i = 0; i < bits; i = forebay_test::next_place<std::size_t>(i, 1, bits)) {
    std::string damaged = whole;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    save(damaged);
    ASSERT_EQ(fault([&] { StagingControl::read(path_); }), Errc::ebadlog) << i;
    ASSERT_EQ(fault([&] { StagingControl::take_over(path_); }), Errc::ebadlog) << i;
    ASSERT_EQ(load(), damaged);
  }
  EXPECT_NE(message_.find("forebay recover"), std::string::npos) << message_;
}

TEST_F(StagingControlTest, every_truncation_is_found_and_the_directory_is_named) {
  leave();
  const std::string whole = load();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    save(whole.substr(0, size));
    ASSERT_EQ(fault([&] { StagingControl::read(path_); }), Errc::ebadlog) << size;
  }
  EXPECT_NE(message_.find("/dev/shm/with a blank"), std::string::npos) << message_;
  save(std::string(1 << 20, 'x'));
  EXPECT_EQ(fault([&] { StagingControl::read(path_); }), Errc::ebadlog);
}

TEST_F(StagingControlTest, progress_line_lies_within_the_first_page) {
  leave();
  EXPECT_LT(load().find("\nfile "), 512u);
}

TEST_F(StagingControlTest, directory_that_is_not_there_is_a_clear_error) {
  info_.file = directory_ + "/missing/a.nc";
  EXPECT_EQ(fault([&] { StagingControl::create(info_); }), Errc::enoent);
  EXPECT_FALSE(StagingControl::read(StagingControl::path_of(info_.file)));
}

}  // namespace staging_control_test
}  // namespace forebay
