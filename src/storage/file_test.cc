#include "storage/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/attempt.h"

namespace forebay {
namespace {

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

// By a thread, which the program does not wait for.
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

}  // namespace
}  // namespace forebay
