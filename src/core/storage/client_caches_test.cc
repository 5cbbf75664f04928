#include "storage/client_caches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/attempt.h"
#include "storage/file.h"

namespace forebay {
namespace client_caches_test {

TEST(ClientCaches, are_told_by_the_kind_of_file_system) {
  for (const bool writable : {true, false}) {
    EXPECT_EQ(client_caches_of_kind(0x6969, writable), ClientCaches::weak);       // NFS
    EXPECT_EQ(client_caches_of_kind(0xff534d42L, writable), ClientCaches::weak);  // SMB
    EXPECT_EQ(client_caches_of_kind(static_cast<int>(0xff534d42), writable), ClientCaches::weak);
    for (const long kind : {0xef53L, 0x01021994L, 0x58465342L, 0x0bd00bd0L, 0x47504653L})
      EXPECT_EQ(client_caches_of_kind(kind, writable), ClientCaches::coherent) << std::hex << kind;
    for (const char* path : {"/proc/file", "file", "/no such folder/file"})
      EXPECT_EQ(client_caches_of(path, writable), ClientCaches::coherent) << path;
  }
}

TEST(ClientCaches, of_fuse_are_as_any_others_for_who_only_reads) {
  EXPECT_EQ(client_caches_of_kind(0x65735546, true), ClientCaches::fuse);
  EXPECT_EQ(client_caches_of_kind(0x65735546, false), ClientCaches::weak);
}

TEST(ClientCaches, going_to_the_server_leaves_the_file_as_it_is) {
  const std::string path = testing::TempDir() + "forebay_caches_" + std::to_string(::getpid());
  for (const std::string content : {"", "x", "longer than a byte"}) {
    std::ofstream(path, std::ios::binary) << content;
    for (const bool writable : {true, false}) {
      Report report;
      File file(path, writable, 0, report);
      go_to_server(file.descriptor(), ClientCaches::fuse);
    }
    std::ifstream in(path, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), content);
  }
  std::filesystem::remove(path);
}

/// An fsync of this file fails, which shows when it is called.
class SharedFile : public testing::Test {
 protected:
  bool syncs_when(void (File::*f)()) {
    return attempt_to([&] { (file_.*f)(); }).has_value();
  }
  bool syncs_when_read() {
    std::byte byte;
    return attempt_to([&] { file_.read_at(0, {&byte, 1}); }).has_value();
  }
  static void write(File& file) {
    const std::byte byte{};
    file.write_at(0, std::span<const std::byte>(&byte, 1));
  }

  Report report_;
  File file_{"/dev/null", true, 0, report_};
};

TEST_F(SharedFile, costs_nothing_where_caches_are_coherent) {
  for (const bool told : {false, true}) {
    if (told) file_.share(ClientCaches::coherent);
    EXPECT_FALSE(file_.has_weak_caches());
    write(file_);
    file_.note_written();
    EXPECT_FALSE(syncs_when(&File::meet));
    file_.look_again();
    EXPECT_FALSE(syncs_when(&File::refresh));
    EXPECT_FALSE(syncs_when_read());
  }
}

// fsync refuses /dev/null, so that it is seen.
TEST_F(SharedFile, is_synced_where_only_another_object_wrote_for_it) {
  File beside("/dev/null", true, 0, report_);
  beside.write_for(file_);
  EXPECT_NO_THROW(file_.sync());
  write(beside);
  EXPECT_THROW(file_.sync(), Error);
}

TEST_F(SharedFile, brings_what_was_written_to_the_server_before_ranks_meet) {
  file_.share(ClientCaches::weak);
  EXPECT_TRUE(file_.has_weak_caches());
  EXPECT_FALSE(syncs_when(&File::meet));  // nothing was written
  write(file_);
  EXPECT_TRUE(syncs_when(&File::meet));
  EXPECT_TRUE(syncs_when(&File::meet));  // the bytes are not at the server yet
  EXPECT_EQ(report_[Counter::write_calls], 1);
}

TEST_F(SharedFile, counts_what_was_written_beside_it) {
  Report report;
  file_.share(ClientCaches::fuse);
  File beside("/dev/null", true, 0, report);
  beside.write_for(file_);
  EXPECT_FALSE(syncs_when(&File::meet));
  write(beside);
  EXPECT_TRUE(syncs_when(&File::meet));
  EXPECT_FALSE(beside.has_weak_caches());
}

TEST_F(SharedFile, is_read_anew_behind_each_meeting_and_not_before) {
  file_.share(ClientCaches::weak);
  EXPECT_TRUE(syncs_when_read());  // others may have written before it was shared
  EXPECT_TRUE(syncs_when_read());  // that failed
}

TEST_F(SharedFile, is_read_anew_behind_a_meeting_once) {
  const std::string path = testing::TempDir() + "forebay_shared_" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << "abc";
  File file(path, true, 0, report_);
  file.share(ClientCaches::weak);
  EXPECT_EQ(file.size(), 3);
  std::filesystem::remove(path);
  // From here on, fsync fails on its descriptor.
  ASSERT_EQ(::dup2(file_.descriptor(), file.descriptor()), file.descriptor());
  std::byte byte;
  const auto read = [&] { file.read_at(0, {&byte, 1}); };
  EXPECT_FALSE(attempt_to(read));
  file.meet();
  EXPECT_TRUE(attempt_to(read));
  file.share(ClientCaches::coherent);
  EXPECT_FALSE(attempt_to(read));
  file.share(ClientCaches::weak);
  EXPECT_TRUE(attempt_to([&] { file.size(); }));
}

}  // namespace client_caches_test
}  // namespace forebay
