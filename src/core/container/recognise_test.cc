#include "container/recognise.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace forebay {
namespace recognise_test {

class RecogniseTest : public testing::Test {
 protected:
  RecogniseTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("forebay_recognise_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~RecogniseTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_;
};

TEST_F(RecogniseTest, what_is_no_folder_is_not_looked_into) {
  std::ofstream(folder_ / "file") << "a text";
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string path : {(folder_ / "file").string(), pipe, std::string("/dev/zero")})
    EXPECT_EQ(recognise(path), find_part<ContainerEntry>("classic")) << path;
}

TEST_F(RecogniseTest, folders_are_known_by_their_definitions) {
  EXPECT_EQ(recognise(folder_ / "missing"), nullptr);
  EXPECT_EQ(recognise(folder_), nullptr);
  std::ofstream(folder_ / "header.nc") << "a text";
  EXPECT_EQ(recognise(folder_), find_part<ContainerEntry>("directory"));
}

}  // namespace recognise_test
}  // namespace forebay
