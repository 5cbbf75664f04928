#include "container/recognise.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace forebay {
namespace {

class RecogniseTest : public testing::Test {
 protected:
  RecogniseTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("forebay_recognise_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~RecogniseTest() override { std::filesystem::remove_all(folder_); }
  const ContainerEntry* of(const std::string& bytes) const {
    std::ofstream(folder_ / "file", std::ios::binary) << bytes;
    return recognise(folder_ / "file");
  }

  const std::filesystem::path folder_;
  const ContainerEntry* const classic_ = find_part<ContainerEntry>("classic");
};

TEST_F(RecogniseTest, classic_files_are_known_by_their_first_bytes) {
  for (const char version : {1, 2, 5}) {
    EXPECT_EQ(of(std::string("CDF") + version), classic_);
    EXPECT_EQ(of(std::string("CDF") + version + std::string(1000, 'x')), classic_);
  }
  for (const char* other : {"", "C", "CDF", "CDF\x03", "CDF\x04 ", "cdf\x01", " CDF\x01", "a text",
                            "\x89HDF\r\n\x1a\n and more"})
    EXPECT_EQ(of(other), nullptr) << other;
}

TEST_F(RecogniseTest, what_is_no_file_is_left_alone) {
  EXPECT_EQ(recognise(folder_ / "missing"), nullptr);
  EXPECT_EQ(recognise(folder_), nullptr);
  EXPECT_EQ(recognise("/dev/zero"), nullptr);
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(recognise(pipe), nullptr);  // without waiting for a writer
}

}  // namespace
}  // namespace forebay
