#include "storage/directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace forebay {
namespace {

namespace fs = std::filesystem;

TEST(Directory, names_what_lies_in_it) {
  EXPECT_EQ(directory::header_of("run/out"), "run/out/header.nc");
  EXPECT_EQ(directory::header_of("run/out/"), "run/out/header.nc");
  EXPECT_EQ(directory::folder_beside("run/out.nc"), "run/out.nc.subfiles");
  EXPECT_EQ(directory::folder_beside("run/out/header.nc"), "run/out");
  EXPECT_EQ(directory::folder_beside("/header.nc"), "/");
  EXPECT_EQ(directory::folder_beside("header.nc"), ".");
  EXPECT_EQ(directory::folder_beside("run/my-header.nc"), "run/my-header.nc.subfiles");
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

}  // namespace
}  // namespace forebay
