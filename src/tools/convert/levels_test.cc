// What commands make of the levels of variables in patches.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/classic_file.h"
#include "files/patches_testing.h"
#include "files/source.h"
#include "tools/application.h"

namespace forebay::tools {
namespace {

namespace fs = std::filesystem;
using namespace patches_testing;

class LevelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_levels_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    write(at("in.nc"));
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  nlohmann::json run_json(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_application(std::move(arguments)), 0);
    std::fflush(stdout);
    return nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  }

  std::string folder_;
};

TEST_F(LevelsTest, info_tells_bytes_and_errors_of_each) {
  const auto vars = run_json({"info", "--json", at("in.nc")})["variables"];
  const auto& levels = vars[rho]["levels"];
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_FALSE(vars[mask].contains("levels"));
  const auto source = open_classic(at("in.nc"));
  const auto errors = source->classic()->level_errors(rho);
  double before = 0, resolution = 1e9;
  for (const auto& one : levels) {
    const int level = one["level"];
    EXPECT_EQ(one["shape"], nlohmann::json(source->classic()->shape(rho, level)));
    EXPECT_EQ(one["error"], errors[static_cast<std::size_t>(level)].error);
    EXPECT_EQ(one["resolution_error"], errors[static_cast<std::size_t>(level)].resolution);
    EXPECT_LE(one["resolution_error"].get<double>(), resolution);
    resolution = one["resolution_error"];
    EXPECT_EQ(one["read_bytes"].get<double>(), before + one["stored_bytes"].get<double>());
    before = one["read_bytes"];
    EXPECT_EQ(one["ratio"].get<double>(),
              4.0 * records * static_cast<double>(cube[0] * cube[1] * cube[2]) / before);
  }
  EXPECT_EQ(levels[2]["error"], 0.0);
  EXPECT_EQ(before, vars[rho]["chunking"]["stored_bytes"].get<double>());
}

}  // namespace
}  // namespace forebay::tools
