// forebay bundle plan, run in this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/application.h"

namespace forebay::tools {
namespace bundle_command_test {

/// Returns what the command prints, or the text of the Error that it throws.
std::string run(std::vector<std::string> words) {
  ::testing::internal::CaptureStdout();
  std::string failed;
  try {
    run_application(std::move(words));
  } catch (const Error& error) {
    failed = error.what();
  }
  std::fflush(stdout);
  return ::testing::internal::GetCapturedStdout() + failed;
}

// Table I of Wang et al. 2014 has 155 for the largest of these (bundles/plan/bundle_plan_test.cc).
TEST(BundleCommand, plans_by_every_scheme) {
  std::vector<std::string> words{"bundle", "plan",    "--ranks", "512",    "--ranks-per-node",
                                 "8",      "1201MiB", "960MiB",  "720MiB", "532MiB",
                                 "435MiB", "105MiB",  "42MiB"};
  const std::string text = run(words);
  EXPECT_NE(text.find("off  joint    bps    lps    ips  balanced"), std::string::npos) << text;
  words.push_back("--json");
  const auto json = nlohmann::json::parse(run(words));
  ASSERT_EQ(json["schemes"].size(), 6U);
  EXPECT_EQ(json["schemes"][2]["scheme"], "bps");
  EXPECT_EQ(json["schemes"][2]["files"][0]["ranks"], 155);
  EXPECT_EQ(json["schemes"][2]["files"][1]["first_rank"], 155);
  // In the isolated shuffle the root hears from each other member of each unit.
  EXPECT_EQ(json["schemes"][4]["files"][0]["messages_in"], 1201 * 3);
  EXPECT_EQ(json["schemes"][4]["files"][0]["aggregation_messages_in"], 1201 * 154);
  const std::string file = ::testing::TempDir() + "forebay_bundle_" + std::to_string(getpid());
  std::ofstream(file) << std::string(1000, ' ');
  EXPECT_EQ(nlohmann::json::parse(run({"bundle", "plan", "--ranks", "2", "--scheme", "joint",
                                       "--json", file}))["schemes"][0]["files"][0]["bytes"],
            1000);
  std::remove(file.c_str());
  EXPECT_EQ(run({"bundle", "plan", "--ranks", "2", "--unit", "0", "1MiB"}),
            "a unit has one byte at least");
  EXPECT_EQ(run({"bundle", "plan", "--ranks", "2", "--node-bytes", "1e-320", "1MiB"}),
            "scheme off would take more seconds than a number holds (give rates of a machine: see "
            "forebay bundle --help)");
  EXPECT_EQ(run({"bundle", "plan", "--ranks", "2", "no.nc"}),
            "no.nc is neither a file nor a size (give files, or sizes such as 1201MiB)");
}

}  // namespace bundle_command_test
}  // namespace forebay::tools
