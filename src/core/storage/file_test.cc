#include "storage/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/host_name.h"

namespace forebay {
namespace file_test {

// FOREBAY_FAULT is read only once, so it must be set at the start (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);
void fail(const char* plan) { ::setenv("FOREBAY_FAULT", plan, 1); }

class FileTest : public testing::Test {
 protected:
  FileTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("forebay_file_" + std::to_string(::getpid()))),
        before_(std::filesystem::current_path()) {
    std::filesystem::create_directories(folder_ / "other");
  }
  ~FileTest() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  const std::filesystem::path folder_, before_;
  Report report_;
};

TEST_F(FileTest, what_somebody_else_made_first_can_be_opened) {
  std::ofstream(folder_ / "f") << "there";
  File file(folder_ / "f", true, 0, report_);
  const auto refused = attempt_to([&] { file.create(true); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), Errc::eexist);
  file.ensure_open();
  EXPECT_EQ(file.size(), 5);
}

// A thread makes them, and the program does not wait for it.
TEST_F(FileTest, what_is_made_later_is_made_where_it_was_asked_for) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "f" + std::to_string(i);
    std::ofstream(folder_ / "other" / name) << "another's";
    std::filesystem::current_path(folder_);
    File file(name, true, 0, report_);
    file.create_later();
    std::filesystem::current_path(folder_ / "other");
    file.wait_until_made();
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << i;
    EXPECT_EQ(std::filesystem::file_size(folder_ / "other" / name), 9U) << i;
  }
}

TEST_F(FileTest, what_could_not_be_made_later_fails_again) {
  File file(folder_ / "none" / "f", true, 0, report_);
  file.create_later();
  for (int i = 0; i < 2; ++i) {
    const auto failed = attempt_to([&] { file.wait_until_made(); });
    ASSERT_TRUE(failed) << i;
  }
  std::filesystem::create_directories(folder_ / "none");
  EXPECT_TRUE(attempt_to([&] { file.ensure_open(); }));
  file.create(false);
  EXPECT_FALSE(attempt_to([&] { file.ensure_open(); }));
}

// A rank opens a file late, by the name that it had.
TEST_F(FileTest, a_renamed_file_is_found_and_another_one_of_its_name_is_not_taken_for_it) {
  for (const char* const to : {"renamed", "other/renamed"}) {
    std::filesystem::remove(folder_ / "f");
    File first(folder_ / "f", true, 0, report_);
    first.create(true);
    first.write_at(0, std::as_bytes(std::span("mine", 4)));
    std::filesystem::rename(folder_ / "f", folder_ / to);
    for (const bool is_replaced : {false, true}) {
      if (is_replaced) std::ofstream(folder_ / "f") << "another's";
      File late(folder_ / "f", true, 1, report_);
      late.expect(first.identity());
      EXPECT_EQ(late.size(), 4);
      EXPECT_EQ(late.place_now(), folder_ / to);
    }
    // If this node cannot see the file in another process, it looks in the folder alone.
    FileIdentity elsewhere = first.identity();
    elsewhere.descriptor = 1 << 20;
    File late(folder_ / "f", true, 1, report_);
    late.expect(elsewhere);
    const auto failed = attempt_to([&] { late.ensure_open(); });
    EXPECT_EQ(failed.has_value(), std::string(to) != "renamed");
    if (failed) EXPECT_EQ(failed->code(), Errc::efile) << failed->message();
    if (failed) EXPECT_NE(failed->message().find(host_name()), std::string::npos);
  }
}

// Nodes number the files of their disks alike, but have different files.
TEST_F(FileTest, the_file_of_another_nodes_disk_is_another_one) {
  File file(folder_ / "f", true, 0, report_);
  file.create(true);
  FileIdentity there = file.identity();
  there.system += 1;
  File here(folder_ / "f", true, 1, report_);
  here.expect(there);
  EXPECT_TRUE(attempt_to([&] { here.ensure_open(); }));
}

// Jobs may have their input on each node's own disk.
TEST_F(FileTest, a_copy_on_another_nodes_disk_is_read_and_one_that_differs_is_not) {
  const std::string text(300'000, 'x');
  File file(folder_ / "f", true, 0, report_);
  file.create(true);
  file.write_at(0, std::as_bytes(std::span(text)));
  FileIdentity there = file.identity();
  there.system += 1;
  const std::int64_t sample = sample_of(file.descriptor());
  File copy(folder_ / "f", false, 1, report_);
  copy.expect(there);
  copy.accept_copies(sample);
  EXPECT_EQ(copy.size(), 300'000);
  for (const Offset at : {0, 299'999, 160'000}) {
    file.write_at(at, std::as_bytes(std::span("y", 1)));
    File other(folder_ / "f", false, 1, report_);
    other.expect(there);
    other.accept_copies(sample);
    EXPECT_TRUE(attempt_to([&] { other.ensure_open(); })) << at;
    file.write_at(at, std::as_bytes(std::span("x", 1)));
  }
}

// Who is root may read any folder.
TEST_F(FileTest, the_name_of_a_file_is_synced_also_in_a_folder_that_cannot_be_read) {
  namespace fs = std::filesystem;
  const fs::path folder = folder_ / "other";
  std::ofstream(folder / "f") << "there";
  for (const auto mode : {fs::perms::owner_all, fs::perms::owner_write | fs::perms::owner_exec}) {
    fs::permissions(folder, mode);
    EXPECT_FALSE(attempt_to([&] { PathSync().folder_of(folder / "f"); }));
  }
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_TRUE(attempt_to([&] { PathSync().folder_of(folder_ / "none" / "f"); }));
}

TEST_F(FileTest, what_lies_beside_a_file_is_found_where_that_is_now) {
  File main(folder_ / "f", true, 0, report_);
  main.create(true);
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  write(folder_ / "f.beside", "mine");
  const auto check = [](File& opened) {
    if (opened.size() != 4) throw Error(Errc::enotnc, "it is another file's");
  };
  const auto place = [](const std::string& beside) { return beside + ".beside"; };
  for (const bool is_replaced : {false, true}) {
    File beside(folder_ / "f.beside", false, 1, report_);
    beside.expect_beside(main, place, check);
    if (!is_replaced) {
      EXPECT_EQ(beside.size(), 4);
      std::filesystem::rename(folder_ / "f", folder_ / "g");
      std::filesystem::rename(folder_ / "f.beside", folder_ / "g.beside");
      beside.close();
    } else {
      write(folder_ / "f.beside", "another's");
    }
    EXPECT_EQ(beside.size(), 4);
  }
}

// Linux tells of lost bytes once, and takes them for stored afterwards.
TEST_F(FileTest, lost_bytes_are_told_by_each_later_sync_until_the_file_is_opened_anew) {
  const std::array<std::byte, 3> bytes{};
  for (const bool closes : {false, true}) {
    File file(folder_ / "f", true, 0, report_);
    file.create(false);
    file.write_at(0, bytes);
    file.sync();
    file.write_at(3, bytes);
    fail("fsync:call=1:errno=ENOSPC");
    const auto first = attempt_to([&] { file.sync(); });
    fail("none");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->code(), Errc::eno_space);
    EXPECT_NE(first->advice().find("write the rest again"), std::string::npos) << first->what();
    file.write_at(3, bytes);
    if (closes) file.close();
    for (int i = 0; i < 2; ++i) {
      const auto later = attempt_to([&] { file.sync(); });
      ASSERT_TRUE(later);
      EXPECT_EQ(later->code(), first->code());
      EXPECT_EQ(later->message(), first->message());
    }
    std::array<std::byte, 6> all{};
    EXPECT_EQ(file.read_at(0, all), all.size());  // it can still be read
    file.close();
    File again(folder_ / "f", true, 0, report_);
    again.write_at(3, bytes);
    EXPECT_NO_THROW(again.sync());
    file.create(false);
    EXPECT_NO_THROW(file.sync());
  }
}

TEST_F(FileTest, bytes_that_closing_lost_are_told_by_a_later_sync) {
  const std::array<std::byte, 3> bytes{};
  File file(folder_ / "f", true, 0, report_);
  file.create(false);
  file.write_at(0, bytes);
  fail("close:call=1");
  EXPECT_TRUE(attempt_to([&] { file.close(); }));
  fail("none");
  EXPECT_TRUE(attempt_to([&] { file.sync(); }));
}

// A device that cannot be synced has lost nothing.
TEST_F(FileTest, a_sync_that_was_refused_may_succeed_later) {
  File file("/dev/null", true, 0, report_);
  file.ensure_open();
  EXPECT_TRUE(attempt_to([&] { file.sync(); }));
  File other(folder_ / "f", true, 0, report_);
  other.create(false);
  ASSERT_EQ(::dup2(other.descriptor(), file.descriptor()), file.descriptor());
  EXPECT_NO_THROW(file.sync());
  for (const int errnum : {EINTR, EINVAL, ENOSYS}) EXPECT_FALSE(means_lost_bytes(errnum));
  for (const int errnum : {EIO, ENOSPC, EDQUOT, ESTALE, EOPNOTSUPP})
    EXPECT_TRUE(means_lost_bytes(errnum));
}

TEST_F(FileTest, threads_that_sync_after_a_loss_are_all_told) {
  File file(folder_ / "f", true, 0, report_);
  file.create(false);
  std::atomic<int> told = 0, later = 0;
  fail("fsync:call=5");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i)
        if (attempt_to([&] { file.sync(); })) ++told;
    });
  }
  for (std::thread& thread : threads) thread.join();
  fail("none");
  for (int t = 0; t < 4; ++t)
    if (attempt_to([&] { file.sync(); })) ++later;
  EXPECT_GE(told, 4);
  EXPECT_EQ(later, 4);
}

// On a file that other nodes write, reads go on after the loss was told.
TEST_F(FileTest, a_loss_behind_a_meeting_is_told_once_there_and_by_each_sync) {
  const std::array<std::byte, 3> bytes{};
  File file(folder_ / "f", true, 0, report_);
  file.create(false);
  file.share(ClientCaches::weak);
  file.write_at(0, bytes);
  fail("fsync:call=1");
  EXPECT_TRUE(attempt_to([&] { file.meet(); }));
  fail("none");
  EXPECT_NO_THROW(file.meet());
  std::array<std::byte, 3> found{};
  EXPECT_EQ(file.read_at(0, found), found.size());
  EXPECT_TRUE(attempt_to([&] { file.sync(); }));
}

}  // namespace file_test
}  // namespace forebay
