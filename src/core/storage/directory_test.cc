#include "storage/directory.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {
namespace directory_test {

namespace fs = std::filesystem;

void put(const fs::path& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name, std::ios::binary) << text;
}

TEST(Directory, names_what_lies_in_it) {
  EXPECT_EQ(directory::header_of("run/out"), "run/out/header.nc");
  EXPECT_EQ(directory::header_of("run/out/"), "run/out/header.nc");
  EXPECT_EQ(directory::folder_beside("run/out.nc"), "run/out.nc.subfiles");
  EXPECT_EQ(directory::folder_beside("run/out/header.nc"), "run/out");
  EXPECT_EQ(directory::folder_beside("/header.nc"), "/");
  EXPECT_EQ(directory::folder_beside("header.nc"), ".");
  EXPECT_EQ(directory::folder_beside("run/my-header.nc"), "run/my-header.nc.subfiles");
  EXPECT_TRUE(directory::is_header("header.nc"));
  EXPECT_TRUE(directory::is_header("run/out.subfiles/header.nc"));
  EXPECT_FALSE(directory::is_header("run/my-header.nc"));
}

TEST(Directory, what_lies_beside_a_link_is_what_lies_beside_its_file) {
  const fs::path folder = fs::path(::testing::TempDir()) / "forebay-links";
  fs::remove_all(folder);
  fs::create_directories(folder / "run" / "whole");
  const auto beside = [&](const char* path) { return directory::folder_beside(folder / path); };
  fs::create_symlink("run/out.nc", folder / "link.nc");  // where there is no file yet, too
  fs::create_symlink(folder / "link.nc", folder / "run" / "second.nc");
  fs::create_symlink("run/whole/header.nc", folder / "header-link.nc");
  fs::create_symlink("round.nc", folder / "round.nc");
  EXPECT_EQ(beside("link.nc"), folder / "run/out.nc.subfiles");
  EXPECT_EQ(beside("run/second.nc"), folder / "run/out.nc.subfiles");
  EXPECT_EQ(beside("header-link.nc"), folder / "run/whole");
  EXPECT_EQ(beside("run/out.nc"), folder / "run/out.nc.subfiles");
  EXPECT_TRUE(beside("round.nc").ends_with(".subfiles"));
  fs::remove_all(folder);
}

TEST(Directory, of_a_private_file_is_private) {
  const std::filesystem::path folder =
      ::testing::TempDir() + "forebay_private_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string file = folder / "a.nc";
  std::ofstream(file) << "x";
  for (const unsigned mode : {0600U, 0640U, 0644U, 0400U}) {
    ::chmod(file.c_str(), mode);
    std::filesystem::remove(file + ".subfiles");
    directory::make_beside(file + ".subfiles", file);
    const auto perms = std::filesystem::status(file + ".subfiles").permissions();
    EXPECT_EQ(static_cast<unsigned>(perms), 0700 | mode | ((mode & 0444) >> 2)) << mode;
  }
  const auto renamed = attempt_to(
      [&] { directory::make_beside(folder / "gone", directory::header_of(folder / "gone")); });
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->code(), Errc::enoent);
  std::filesystem::remove_all(folder);
}

TEST(Directory, makes_what_links_lead_to_also_where_nothing_is) {
  const std::filesystem::path folder =
      ::testing::TempDir() + "forebay_to_make_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder / "disk");
  std::filesystem::create_symlink("disk/b", folder / "a");
  std::filesystem::create_symlink("c", folder / "disk/b");
  EXPECT_EQ(directory::to_make(folder / "a"), folder / "disk/c");
  std::filesystem::create_symlink("two", folder / "one");
  std::filesystem::create_symlink("one", folder / "two");
  EXPECT_EQ(attempt_to([&] { directory::to_make(folder / "one"); })->code(), Errc::efile);
  std::filesystem::remove_all(folder);
}

TEST(Directory, is_ours_by_names_and_by_what_data_files_begin_with) {
  const fs::path folder = ::testing::TempDir() + "/forebay-ours";
  fs::remove_all(folder);
  fs::create_directories(folder);
  EXPECT_FALSE(directory::is_ours(folder));
  put(folder, "header.nc", "CDF");
  const std::string damaged(512, 'x'), slot = "FBDS" + std::string(508, '\1');
  for (const std::string& state :
       {slot, damaged + slot, damaged + damaged + slot, std::string(), std::string(1536, '\0')}) {
    put(folder, "state", state);
    EXPECT_TRUE(directory::is_ours(folder)) << state.size();
  }
  for (const std::string& state : {damaged, std::string("mine"), std::string("FBDF")}) {
    put(folder, "state", state);
    EXPECT_FALSE(directory::is_ours(folder)) << state.size();
  }
  put(folder, "state", slot);
  for (const std::string name : {"index", "0", "17"}) {
    for (const std::string text : {"FBDF and so on", "", "\1", "FBD", "mine"}) {
      put(folder, name, text);
      EXPECT_EQ(directory::is_ours(folder), text.empty() || text.starts_with("FBDF")) << text;
    }
    put(folder, name, std::string(100, '\0'));
    EXPECT_TRUE(directory::is_ours(folder));
  }
  put(folder, "notes", "FBDF");
  EXPECT_FALSE(directory::is_ours(folder));
  fs::remove(folder / "notes");
  put(folder, "header.nc.pending.3.4711", "anything");  // a rank was killed before it had no name
  EXPECT_TRUE(directory::is_ours(folder));
  fs::create_directory(folder / "1");
  EXPECT_FALSE(directory::is_ours(folder));
  fs::remove(folder / "1");
  directory::remove_data(folder);
  EXPECT_TRUE(fs::exists(folder / "header.nc"));
  for (const char* name : {"state", "index", "0", "17", "header.nc.pending.3.4711"})
    EXPECT_FALSE(fs::exists(folder / name));
  EXPECT_TRUE(directory::is_ours(folder));
  fs::remove_all(folder);
}

TEST(Directory, is_unfinished_by_a_file_that_shows_whose_it_is) {
  const fs::path folder = ::testing::TempDir() + "/forebay-unfinished";
  fs::remove_all(folder);
  EXPECT_FALSE(directory::is_unfinished(folder));
  fs::create_directories(folder);
  EXPECT_TRUE(directory::is_unfinished(folder)) << "an empty one is nobody's";
  for (const char* name : {"0", "index", "state"}) put(folder, name, "");
  EXPECT_FALSE(directory::is_unfinished(folder)) << "files of nothing may be anybody's";
  const std::pair<const char*, const char*> words[] = {
      {"0", "FBDF"}, {"index", "FBDF"}, {"state", "FBDS"}};
  for (const auto& [name, word] : words) {
    put(folder, name, word);
    EXPECT_TRUE(directory::is_unfinished(folder)) << name;
    EXPECT_FALSE(directory::is_ours(folder)) << name;
    put(folder, "mine", "");
    EXPECT_FALSE(directory::is_unfinished(folder)) << name;
    fs::remove(folder / "mine");
    put(folder, name, "");
  }
  put(folder, "0", "FBDF");
  put(folder, "header.nc", "");
  EXPECT_FALSE(directory::is_unfinished(folder)) << "it has definitions";
  EXPECT_TRUE(directory::is_ours(folder));
  fs::remove_all(folder);
}

TEST(Directory, beside_a_file_is_none) {
  const fs::path folder = ::testing::TempDir() + "/forebay.nc.subfiles", link = folder / "../link";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::remove(link);
  fs::create_directory_symlink(folder, link);
  std::ofstream(folder / "0") << "FBDF";
  for (const fs::path& path : {folder, folder / "", folder / ".", link})
    EXPECT_FALSE(directory::is_unfinished(path)) << path;
  fs::remove(link);
  // The files may lie on another disk.
  const fs::path elsewhere = (folder / "../elsewhere").lexically_normal();
  fs::remove_all(elsewhere);
  fs::rename(folder, elsewhere);
  fs::create_directory_symlink(elsewhere, folder);
  fs::create_directory_symlink(folder, link);
  EXPECT_TRUE(directory::is_unfinished(elsewhere));
  for (const fs::path& path : {folder, folder / "", folder / ".", link, link / ""})
    EXPECT_FALSE(directory::is_unfinished(path)) << path;
  fs::remove(link);
  fs::remove(folder);
  fs::remove_all(elsewhere);
  fs::remove_all(folder);
}

TEST(Directory, with_a_file_that_cannot_be_read_is_not_ours) {
  const fs::path folder = ::testing::TempDir() + "/forebay-unreadable";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::all);
  std::ofstream(folder / "header.nc") << "CDF";
  std::ofstream(folder / "0") << "FBDF";
  fs::permissions(folder / "0", fs::perms::none);
  const uid_t me = ::geteuid();
  if (me == 0) {
    ASSERT_EQ(0, ::seteuid(65534));
  }
  EXPECT_FALSE(directory::is_ours(folder));
  directory::remove_data(folder);
  if (me == 0) {
    ASSERT_EQ(0, ::seteuid(me));
  }
  EXPECT_TRUE(fs::exists(folder / "0"));
  fs::remove_all(folder);
}

TEST(Directory, loses_its_data_first_what_shows_whose_they_are_last) {
  const fs::path folder = ::testing::TempDir() + "/forebay-going";
  fs::remove_all(folder);
  fs::create_directories(folder);
  constexpr int torn = 20;
  for (int i = 0; i < torn; ++i) put(folder, std::to_string(i), "");
  put(folder, "index", "FBDF");
  put(folder, "state", "FBDS");
  for (const char* name : {"header.nc", "notes"}) put(folder, name, "mine");
  put(folder, "99", "mine, too");
  const int seen = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ASSERT_GE(::inotify_add_watch(seen, folder.c_str(), IN_DELETE), 0);
  directory::remove_data(folder);
  alignas(inotify_event) std::array<char, 8192> events{};
  const ssize_t n = ::read(seen, events.data(), events.size());
  ::close(seen);
  std::vector<std::string> gone;
  for (ssize_t at = 0; at < n;) {
    inotify_event event{};
    std::memcpy(&event, events.data() + at, sizeof event);
    at += static_cast<ssize_t>(sizeof event);
    gone.emplace_back(events.data() + at);
    at += event.len;
  }
  ASSERT_EQ(torn + 2, gone.size());
  std::sort(gone.end() - 2, gone.end());
  EXPECT_EQ((std::vector<std::string>{"index", "state"}),
            std::vector<std::string>(gone.end() - 2, gone.end()));
  for (const char* name : {"header.nc", "notes", "99"}) EXPECT_TRUE(fs::exists(folder / name));
  fs::remove_all(folder);
}

TEST(Directory, is_one_by_the_file_of_definitions_in_it) {
  const std::string folder = ::testing::TempDir() + "/forebay-directory";
  fs::remove_all(folder);
  EXPECT_FALSE(directory::is_one(folder));
  fs::create_directories(folder);
  EXPECT_FALSE(directory::is_one(folder));
  EXPECT_EQ(directory::to_open(folder), folder);
  fs::create_directories(folder + "/header.nc");
  EXPECT_FALSE(directory::is_one(folder)) << "a folder of that name is no file";
  fs::remove_all(folder + "/header.nc");
  std::ofstream(folder + "/header.nc") << "CDF";
  EXPECT_TRUE(directory::is_one(folder));
  EXPECT_EQ(directory::to_open(folder), folder + "/header.nc");
  EXPECT_EQ(directory::to_open(folder + "/header.nc"), folder + "/header.nc");
  fs::remove_all(folder);
}

}  // namespace directory_test
}  // namespace forebay
