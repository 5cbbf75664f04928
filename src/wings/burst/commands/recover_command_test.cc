// forebay recover and forebay log on the logs of a job, undamaged and damaged.
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "burst/recovery/recovery_testing.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace recover_command_test {

using Json = nlohmann::json;

class RecoverCommandTest : public RecoveryTest {
 protected:
  void SetUp() override {
    RecoveryTest::SetUp();
    leave_two_ranks();
  }
  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    status_ = run_application(std::move(arguments));
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout();
  }
  Json run_json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    return Json::parse(run(std::move(arguments)));
  }
  void flip(const std::string& path, Offset at) {
    std::string bytes = load(path);
    bytes[static_cast<std::size_t>(at)] ^= 1;
    save(path, bytes);
  }

  int status_ = -1;
};

TEST_F(RecoverCommandTest, list_tells_and_changes_nothing) {
  const std::string text = run({"recover", "--list", file_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(text.find("feedfacecafebeef"), std::string::npos) << text;
  EXPECT_NE(text.find("can be replayed"), std::string::npos) << text;
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoverCommandTest, recover_replays_and_says_what) {
  const Json json = run_json({"recover", file_});
  EXPECT_EQ(status_, exit_done);
  const Json& session = json["sessions"][0];
  EXPECT_EQ(session["replayed_writes"], 4);
  EXPECT_EQ(session["replayed_bytes"], 72);
  EXPECT_EQ(session["outcome"], "replayed");
  EXPECT_EQ(session["job"]["state"], "ended");
  EXPECT_FALSE(session.contains("error"));
  expect_two_ranks();
  const std::string again = run({"recover", file_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(again.find("nothing to do"), std::string::npos) << again;
}

TEST_F(RecoverCommandTest, damage_is_listed_with_advice_and_exit_code) {
  flip(data_path(stem(1)), staging::data_begin);
  std::string text = run({"recover", logs_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("damaged: log of rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("--skip-damaged"), std::string::npos) << text;
  text = run({"recover", "--skip-damaged", "--keep", logs_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("replayed, logs kept"), std::string::npos) << text;
}

TEST_F(RecoverCommandTest, session_can_be_chosen) {
  EXPECT_EQ(run_json({"recover", "--list", "--session", "12", logs_})["sessions"].size(), 0u);
  EXPECT_EQ(
      run_json({"recover", "--list", "--session", "feedfacecafebeef", logs_})["sessions"].size(),
      1u);
  run({"recover", "--session", "xyz", logs_});
  EXPECT_EQ(status_, exit_usage);
}

TEST_F(RecoverCommandTest, path_that_is_not_there_fails) {
  run({"recover", directory_ + "/missing.nc"});
  EXPECT_EQ(status_, exit_failed);
}

TEST_F(RecoverCommandTest, log_shows_records_by_name) {
  const std::string text = run({"log", "--data", "--verify", logs_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(text.find("log of rank 1: "), std::string::npos) << text;
  EXPECT_NE(text.find("T         2,0    1,8"), std::string::npos) << text;
  EXPECT_NE(text.find("staged, whole"), std::string::npos) << text;
  EXPECT_NE(text.find("100 101 102 103 104 105 106 107"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 2 writes staged, 36 B"), std::string::npos) << text;
}

TEST_F(RecoverCommandTest, log_of_one_rank_as_json) {
  const Json json = run_json({"log", "--rank", "1", file_});
  EXPECT_EQ(status_, exit_done);
  const Json& session = json["sessions"][0];
  EXPECT_EQ(session["dataset"], file_);
  EXPECT_EQ(session["job"]["state"], "ended");
  ASSERT_EQ(session["logs"].size(), 1u);
  const Json& log = session["logs"][0];
  EXPECT_EQ(log["rank"], 1);
  EXPECT_EQ(log["fits_file"], true);
  ASSERT_EQ(log["entries"].size(), 2u);
  EXPECT_EQ(log["entries"][0]["variable"], "T");
  EXPECT_EQ(log["entries"][0]["start"], (std::vector<int>{2, 0}));
  EXPECT_EQ(log["entries"][0]["bytes"], 32);
  EXPECT_EQ(log["entries"][0]["staged"], true);
  EXPECT_EQ(
      run_json({"log", "--limit", "1", records_path(stem(0))})["sessions"][0]["logs"][0]["entries"]
          .size(),
      1u);
}

TEST_F(RecoverCommandTest, flushed_entries_are_told_from_staged_ones) {
  StagingControl::take_over(StagingControl::path_of(file_))->set_flushed(1);
  const Json json = run_json({"log", logs_});
  EXPECT_EQ(json["sessions"][0]["logs"][0]["entries"][0]["staged"], false);
  EXPECT_EQ(json["sessions"][0]["logs"][0]["staged_writes"], 0);
}

TEST_F(RecoverCommandTest, log_works_without_the_dataset_and_on_damage) {
  std::filesystem::remove(file_);
  std::string text = run({"log", logs_});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(text.find("cannot be read"), std::string::npos) << text;
  EXPECT_NE(text.find("#0"), std::string::npos) << text;
  flip(data_path(stem(0)), staging::data_begin);
  run({"log", logs_});
  EXPECT_EQ(status_, exit_done);
  text = run({"log", "--verify", logs_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("DAMAGED"), std::string::npos) << text;
  flip(records_path(stem(1)), 20);
  text = run({"log", logs_});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("cannot be read: "), std::string::npos) << text;
}

}  // namespace recover_command_test
}  // namespace forebay::tools
