#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "method/parts_testing.h"
#include "tools/application.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace plan_command_test {

std::string plan(std::vector<std::string> words) {
  words.insert(words.begin(), "plan");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_application(words), exit_done);
  return testing::internal::GetCapturedStdout();
}

const std::vector<std::string> small{"strided", "--size",
                                     "64KiB",   "--piece",
                                     "100",     "--ranks",
                                     "5",       "--ranks-per-node",
                                     "2",       "--hints=window_size=4KiB;buffer_limit=64KiB"};

std::vector<std::string> small_and(std::initializer_list<std::string> more) {
  std::vector<std::string> words = small;
  words.insert(words.end(), more);
  return words;
}

TEST(PlanCommand, json_has_what_is_counted_and_each_node) {
  const Json told = Json::parse(plan(small_and({"--json", "--stripe", "8KiB"})));
  EXPECT_EQ(told["nodes"], 3);
  EXPECT_EQ(told["bytes"], 5 * 65500);
  EXPECT_EQ(told["window"], 4096);
  // 327,500 bytes from the beginning of a stripe. Each window has its home on one of three nodes,
  // and the two others have pieces in it. Two windows with different homes are a stripe.
  EXPECT_EQ(told["windows"], 80);
  EXPECT_EQ(told["messages"], 2 * 80);
  EXPECT_EQ(told["hand_overs"], 40);
  Count sum = 0;
  for (const Json& n : told["per_node"]["messages_out"]) sum += n.get<Count>();
  EXPECT_EQ(told["messages"], sum);
  EXPECT_EQ(told["per_node"]["stored"].size(), 3U);
  EXPECT_GT(told["predicted_seconds"]["total"], 0);
}

TEST(PlanCommand, hints_of_mpi_io_mean_what_they_mean_in_a_run) {
  const auto told = [](const std::string& hints) {
    return plan({"strided", "--size", "1MiB", "--piece", "100", "--ranks", "8", "--ranks-per-node",
                 "2", "--hints=" + hints});
  };
  EXPECT_EQ(told("cb_nodes=2"), told("aggregators=2"));
  EXPECT_NE(told("cb_nodes=2"), told("aggregators=3"));
  EXPECT_EQ(told("cb_buffer_size=8KiB"), told("window_size=8KiB"));
  EXPECT_NE(told("cb_buffer_size=8KiB"), told("window_size=16KiB"));
}

TEST(PlanCommand, rates_change_what_is_predicted) {
  const auto seconds = [](const std::string& bandwidth) {
    const Json told = Json::parse(plan(small_and({"--json", "--writer", bandwidth})));
    return told["predicted_seconds"]["storage"].get<double>();
  };
  EXPECT_GT(seconds("1e3"), 100 * seconds("1e6"));
}

TEST(PlanCommand, text_says_what_and_how_much) {
  const std::string text = plan(small);
  EXPECT_NE(text.find("strided, write: 5 ranks on 3 nodes of 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("81 of 4 KiB"), std::string::npos) << text;
  EXPECT_NE(plan({"strided", "--ranks", "1", "--ranks-per-node", "2", "--size", "64KiB"})
                .find("1 rank on 1 node of 2\n"),
            std::string::npos);
  const std::string chunks = plan({"checkerboard2d", "--total", "64KiB", "--chunk", "1KiB",
                                   "--ranks", "4", "--ranks-per-node", "2"});
  EXPECT_NE(chunks.find("times the mean work"), std::string::npos) << chunks;
}

TEST(PlanCommand, what_makes_no_sense_is_refused) {
  const auto refused = [](std::vector<std::string> words) {
    words.insert(words.begin(), "plan");
    try {
      return run_application(words) == exit_usage;
    } catch (const Error&) {
      return true;
    }
  };
  EXPECT_TRUE(refused(small_and({"--grid", "4"})));
  EXPECT_TRUE(refused(small_and({"--stripe", "1000"})));
  EXPECT_TRUE(refused(small_and({"--copy", "nan"})));
  EXPECT_TRUE(refused({"strided", "--ranks", "0", "--ranks-per-node", "2"}));
  EXPECT_TRUE(refused({"strided", "--ranks", "9999999999", "--ranks-per-node", "2"}));
  EXPECT_TRUE(refused({"strided", "--ranks", "16777217", "--ranks-per-node", "1024"}));
  EXPECT_TRUE(refused({"strided", "--ranks", "4", "--ranks-per-node", "1025"}));
  EXPECT_TRUE(refused(small_and({"--stripe", "1TiB"})));
  EXPECT_TRUE(refused({"strided", "--ranks", "4", "--ranks-per-node", "2", "--size", "lots"}));
  EXPECT_TRUE(refused({"strided", "--ranks", "4", "--ranks-per-node", "2", "--hints=a=b"}));
}

TEST(PlanCommand, methods_that_are_not_simulated_are_refused) {
  const auto told = [](const std::string& hints) {
    std::string text;
    testing::internal::CaptureStdout();
    try {
      run_application({"plan", "strided", "--size", "64KiB", "--ranks", "5", "--ranks-per-node",
                       "2", "--hints=" + hints});
    } catch (const Error& e) {
      text = e.what();
    }
    testing::internal::GetCapturedStdout();
    return text;
  };
  for (const char* hint :
       {"stage=burst", "stage=memory", "layout=chunked", "layout=log", "subfiling=node",
        "exchange=message", "ranks_per_node=3", "chunk_read=everyone"}) {
    if (!is_built(hint)) continue;
    EXPECT_NE(told(hint).find(std::string(hint) + " is not simulated"), std::string::npos) << hint;
  }
  for (const char* hint :
       {"stage=direct", "layout=canonical", "exchange=shared", "ranks_per_node=2"})
    EXPECT_EQ(told(hint), "") << hint;
}

}  // namespace plan_command_test
}  // namespace forebay::tools
