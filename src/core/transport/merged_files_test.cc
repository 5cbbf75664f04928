#include "transport/merged_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/attempt.h"

namespace forebay {
namespace merged_files_test {

/// A file in memory that is found only while it is there.
class Sought : public ByteFile {
 public:
  bool there = true;
  std::string bytes;

  const std::string& path() const override { return path_; }
  void ensure_open() override {
    if (!there) throw Error(Errc::eofile, "it is elsewhere");
  }
  std::size_t read_at(Offset, std::span<std::byte>) override { return 0; }
  using ByteFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override {
    for (const iovec& piece : pieces) {
      const auto at = static_cast<std::size_t>(offset);
      bytes.resize(std::max(bytes.size(), at + piece.iov_len), '.');
      bytes.replace(at, piece.iov_len, static_cast<const char*>(piece.iov_base), piece.iov_len);
      offset += static_cast<Offset>(piece.iov_len);
    }
  }
  Offset size() override { return static_cast<Offset>(bytes.size()); }
  void truncate(Offset) override {}
  void sync() override {}
  bool release(Offset, Count) override { return false; }
  bool is_linked() override { return true; }

 private:
  std::string path_ = "a file";
};

struct Merged {
  Report report;
  WriteQueue queue{1 << 20, report};
  Sought moved, other;
  BundleWindows windows{std::array{BundleWindows::Range{0, 16}, BundleWindows::Range{0, 16}}, 8};
  MergedFile file{"merged", {&moved, &other}, windows, &queue};

  void write() {
    const WriteQueue::Open open(queue);
    const std::string all(32, 'x');
    file.write_data_at(0, std::as_bytes(std::span(all)));
  }
};

TEST(MergedFile, what_a_thread_could_not_open_it_keeps_until_it_is_found) {
  Merged merged;
  merged.moved.there = false;
  merged.write();
  EXPECT_TRUE(attempt_to([&] { merged.queue.drain(); }).has_value());
  EXPECT_FALSE(merged.file.failure(0).has_value());
  merged.moved.there = true;
  merged.file.finish_later();
  EXPECT_FALSE(merged.file.failure(0).has_value());
  EXPECT_EQ(merged.moved.bytes, std::string(16, 'x'));
  EXPECT_EQ(merged.other.bytes, std::string(16, 'x'));
}

TEST(MergedFile, what_is_not_to_be_found_is_that_files_error) {
  Merged merged;
  merged.moved.there = false;
  merged.write();
  attempt_to([&] { merged.queue.drain(); });
  merged.file.finish_later();
  ASSERT_TRUE(merged.file.failure(0).has_value());
  EXPECT_EQ(merged.file.failure(0)->code(), Errc::eofile);
  EXPECT_FALSE(merged.file.failure(1).has_value());
  EXPECT_EQ(merged.other.bytes, std::string(16, 'x'));
  EXPECT_TRUE(merged.queue.is_idle());
}

// This holds if the operation fails half way, too.
TEST(MergedFile, takes_what_waits_along) {
  Report report;
  WriteQueue queue(1 << 20, report);
  Sought file;
  file.there = false;
  const BundleWindows windows(std::array{BundleWindows::Range{0, 16}}, 8);
  {
    MergedFile merged("merged", {&file}, windows, &queue);
    const WriteQueue::Open open(queue);
    const std::string all(16, 'x');
    merged.write_data_at(0, std::as_bytes(std::span(all)));
    attempt_to([&] { queue.drain(); });
  }
  EXPECT_TRUE(queue.is_idle());
}

}  // namespace merged_files_test
}  // namespace forebay
