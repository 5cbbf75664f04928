// forebay checkpoint on stored states, undamaged and damaged, and its plans.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/checkpoint_store.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace checkpoint_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Steps 3 and 4 of x(1000), double, deflated, and of k, an int; the adjoint of step 4.
class CheckpointCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("forebay_checkpoint_" + std::to_string(getpid()));
    fs::create_directory(folder_);
    name_ = (folder_ / "run").string();
    Method method;
    method.codec = "deflate:1";
    checkpoint::Store store({}, name_, method);
    std::vector<double> x(1000, 1.5);
    std::int32_t k = 7;
    store.add_variable("x", Type::float64, {1000}, {}, x.data());
    store.add_variable("k", Type::int32, {}, {}, &k);
    for (const Count step : {3, 4}) store.push({checkpoint::Kind::state, step});
    store.push({checkpoint::Kind::adjoint, 4});
    store.close(true);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Returns what the command prints, and the exit code.
  std::pair<std::string, int> run(std::vector<std::string> words) {
    words.insert(words.begin(), "checkpoint");
    ::testing::internal::CaptureStdout();
    int status = exit_done;
    std::string failed;
    try {
      status = run_application(words);
    } catch (const Error& error) {
      failed = error.message();
    }
    return {::testing::internal::GetCapturedStdout() + failed, status};
  }
  void flip(const std::string& file, std::streamoff at) {
    std::fstream data(name_ + file, std::ios::in | std::ios::out | std::ios::binary);
    data.seekg(at);
    const int byte = data.get();
    data.seekp(at);
    data.put(static_cast<char>(byte ^ 1));
  }

  fs::path folder_;
  std::string name_;
};

TEST_F(CheckpointCommandTest, ls_lists_states_and_variables) {
  const auto [text, status] = run({"ls", name_, "--variables"});
  EXPECT_EQ(status, exit_done);
  for (const char* words : {"3     state", "4     adjoint", "8,004", "x         double", "1000",
                            "deflate:1", "k         int", "scalar"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  const Json json = Json::parse(run({"ls", name_, "--json"}).first);
  EXPECT_EQ(json["ranks"], 1);
  ASSERT_EQ(json["states"].size(), 3U);
  EXPECT_EQ(json["states"][1]["step"], 4);
  EXPECT_EQ(json["states"][1]["bytes"], 8004);
  EXPECT_LT(json["states"][1]["stored"], 400);
  // The path of a single journal works too.
  EXPECT_EQ(Json::parse(run({"ls", name_ + ".0.journal", "--json"}).first)["states"].size(), 3U);
}

TEST_F(CheckpointCommandTest, bytes_have_no_shape) {
  {
    checkpoint::Store store({}, name_ + "_bytes", Method());
    store.begin_write({checkpoint::Kind::state, 1});
    store.put_bytes("tape", std::vector<std::byte>(1234));
    store.end();
    store.close(true);
  }
  const std::string text = run({"ls", name_ + "_bytes", "--variables"}).first;
  EXPECT_NE(text.find("tape      -     bytes  1,234"), std::string::npos) << text;
}

TEST_F(CheckpointCommandTest, check_reads_everything_and_names_what_is_damaged) {
  EXPECT_EQ(run({"check", name_}),
            std::pair(name_ + ": 3 states of 1 ranks read, all whole\n", int{exit_done}));
  flip(".0.data", 8);
  const auto [text, status] = run({"check", name_});
  EXPECT_EQ(status, exit_failed);
  EXPECT_NE(text.find("run.0.data: state 4, x is damaged"), std::string::npos) << text;
  EXPECT_EQ(Json::parse(run({"check", name_, "--json"}).first)["damage"].size(), 1U);
  flip(".0.data", 8);
  fs::resize_file(name_ + ".0.data", fs::file_size(name_ + ".0.data") - 1);
  EXPECT_NE(run({"check", name_}).first.find("run.0.data ends within state 3"), std::string::npos);
  flip(".0.journal", 72);  // in the first entry
  EXPECT_NE(run({"check", name_}).first.find("what lies at byte 64 is no whole entry"),
            std::string::npos);
  flip(".0.journal", 9);
  EXPECT_NE(run({"check", name_}).first.find("is damaged"), std::string::npos);
  EXPECT_EQ(run({"check", name_}).second, exit_failed);
}

TEST_F(CheckpointCommandTest, ranks_that_are_missing_are_named) {
  // The header of rank 0 of 3.
  const std::string journal = name_ + ".0.journal";
  std::fstream file(journal, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<std::byte> bytes(64);
  file.read(reinterpret_cast<char*>(bytes.data()), 64);
  checkpoint::Header header = *checkpoint::parse_header(bytes);
  header.ranks = 3;
  bytes = checkpoint::print_header(header);
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(bytes.data()), 64);
  file.close();
  const std::string text = run({"check", name_}).first;
  EXPECT_NE(text.find("rank 1 of 3 has no files"), std::string::npos) << text;
  EXPECT_NE(text.find("3 states are not there on all ranks"), std::string::npos) << text;
  EXPECT_NE(run({"ls", name_}).first.find("1 of 3"), std::string::npos);
}

TEST_F(CheckpointCommandTest, what_a_journal_claims_takes_no_memory_and_steers_no_terminal) {
  const std::string journal = name_ + ".0.journal";
  std::fstream file(journal, std::ios::in | std::ios::out | std::ios::binary);
  std::vector<std::byte> bytes(64);
  file.read(reinterpret_cast<char*>(bytes.data()), 64);
  const checkpoint::Header header = *checkpoint::parse_header(bytes);
  checkpoint::Record record{{checkpoint::Kind::state, 9}, 99, 0, 4, {}};
  record.parts.push_back({"z", Type::float64, {1}, "\x1b[2J", {{4, 0, 0}}});
  bytes.clear();
  print_entry(record, header.session, bytes);
  file.seekp(0, std::ios::end);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  file.close();
  const std::string text = run({"ls", name_, "--variables"}).first;
  EXPECT_NE(text.find("\\x1b[2J"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::error_code failed;
  fs::resize_file(journal, std::uintmax_t{1} << 42, failed);
  if (failed) GTEST_SKIP() << "no file may be so large here";
  const auto [large, status] = run({"check", name_});
  EXPECT_EQ(status, exit_failed);
  EXPECT_NE(large.find("too many to read"), std::string::npos) << large;
}

TEST_F(CheckpointCommandTest, a_plan_has_revolves_numbers) {
  const Json json = Json::parse(run({"plan", "--steps", "100", "--state", "1MiB", "--memory",
                                     "3MiB", "--ratio", "1,3", "--json"})
                                    .first);
  ASSERT_EQ(json["ratios"].size(), 2U);
  EXPECT_EQ(json["ratios"][0]["advances"], 490);
  EXPECT_EQ(json["ratios"][1]["advances"], 234);
  EXPECT_EQ(json["ratios"][1]["memory"]["states"], 9);
  const std::string text =
      run({"plan", "--steps", "100", "--state", "1MiB", "--memory", "3MiB", "--dir", "1GiB"}).first;
  EXPECT_NE(text.find("dir reads"), std::string::npos) << text;
}

TEST_F(CheckpointCommandTest, what_makes_no_sense_is_named) {
  EXPECT_NE(run({"ls", name_ + "x"}).first.find("there are no checkpoints"), std::string::npos);
  EXPECT_NE(run({"check"}).first.find("check of nothing"), std::string::npos);
  EXPECT_NE(run({"plan", "--steps", "5"}).first.find("needs to know the run"), std::string::npos);
  EXPECT_NE(run({"plan", "--steps", "5", "--state", "1k"}).first.find("there is no room"),
            std::string::npos);
  EXPECT_NE(run({"plan", "--steps", "5", "--state", "1k", "--memory", "1k", "--ratio", "1e-300"})
                .first.find("makes states too large"),
            std::string::npos);
}

}  // namespace checkpoint_command_test
}  // namespace forebay::tools
