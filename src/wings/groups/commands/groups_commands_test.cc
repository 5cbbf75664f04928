// ls, find, convert and recover on files of groups, in this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/thread_ranks.h"
#include "groups/files/bp_source.h"
#include "groups/records/group_file.h"
#include "method/parts_testing.h"
#include "storage/few_descriptors_testing.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace groups_commands_test {

namespace fs = std::filesystem;

class GroupsCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_groups_" + std::to_string(::getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  // Returns what the command prints to both streams, or the text of the Error that it throws.
  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    std::string text;
    try {
      status_ = run_application(std::move(arguments));
    } catch (const Error& error) {
      text = error.what();
      status_ = exit_failed;
    }
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr() +
           text;
  }

  std::string folder_;
  int status_ = exit_usage;
};

void write_group(const std::string& path, const std::string& hints, bool ends) {
  GroupDefinition group = define_group("g", "C");
  define_variable(
      group, {.name = "T", .type = "double", .dimensions = "2", .global = "2", .offsets = "0"});
  Method method;
  apply_hints(method, hints, "the test");
  const auto file = GroupFile::create(Comm(), path, group, method, false);
  for (const double value : {0.0, 1.5}) {
    const std::array<double, 2> values{value, 1};
    file->write("T", values.data(), false);
    file->end_step();
  }
  if (ends) file->close();
}

TEST_F(GroupsCommandsTest, blocks_of_bp_files_are_shown) {
  write_group(at("a.bp"), "", true);
  EXPECT_EQ(run({"ls", at("a.bp")}).find("blocks"), std::string::npos);
  std::string text = run({"ls", "-l", at("a.bp")});
  EXPECT_NE(text.find("\nT: 2 steps, 2 blocks, 0 to 1.5\n"), std::string::npos) << text;
  text = run({"ls", "-D", at("a.bp")});
  EXPECT_NE(text.find("\n    step 1, T[0:2]: 1 to 1.5\n"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(run({"ls", "-D", "--json", at("a.bp")}));
  EXPECT_EQ(json["blocks"]["T"]["list"][1]["greatest"], 1.5);
  EXPECT_NE(run({"find", "T > 0", at("none.bp")}).find("is not there"), std::string::npos);
}

TEST_F(GroupsCommandsTest, steps_that_cannot_be_searched_are_told) {
  write_group(at("a.bp"), "", true);
  EXPECT_EQ(run({"find", "T > 0", at("a.bp")}).find("forebay recover"), std::string::npos);
  EXPECT_EQ(status_, exit_done);
  fs::resize_file(at("a.bp/md.0"), fs::file_size(at("a.bp/md.0")) - 1);
  const std::string text = run({"find", "T > 0", at("a.bp")});
  EXPECT_NE(text.find("1 of 1 blocks, in 1 of 1 steps\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 steps were not searched"), std::string::npos) << text;
  EXPECT_EQ(status_, exit_unreadable);
  const std::string json = run({"find", "--json", "T > 0", at("a.bp")});
  EXPECT_NE(json.find("\"unread_steps\": 1"), std::string::npos) << json;
}

// The output has one value for each element, whether the blocks overlap or leave it out.
TEST_F(GroupsCommandsTest, converting_tells_of_blocks_that_overlap_and_of_holes) {
  GroupDefinition group = define_group("g", "C");
  define_variable(
      group, {.name = "T", .type = "double", .dimensions = "2", .global = "2", .offsets = "0"});
  const std::array<double, 2> values{1, 2};
  const auto converted = [&](std::vector<std::pair<std::int64_t, std::int64_t>> boxes) {
    const auto file = GroupFile::create(Comm(), at("a.bp"), group, {}, false);
    const std::int64_t all = 4;
    for (const auto& [start, count] : boxes)
      file->write_box("T", {&all, &start, &count}, values.data(), false);
    file->end_step();
    file->close();
    const std::string text = run({"convert", "-f", at("a.bp"), at("b.nc")});
    EXPECT_EQ(status_, exit_done) << text;
    return text;
  };
  const std::string whole = converted({{0, 2}, {2, 2}});
  EXPECT_EQ(whole.find("overlap"), std::string::npos) << whole;
  EXPECT_EQ(whole.find("no rank"), std::string::npos) << whole;
  const std::string wrong = converted({{0, 2}, {1, 2}});
  EXPECT_NE(wrong.find("T, step 0: blocks overlap\n"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("T, step 0: 1 elements or more were written by no rank\n"),
            std::string::npos)
      << wrong;
}

// A BP4 directory of 40 data files, and a process that may have 30 descriptors.
TEST_F(GroupsCommandsTest, commands_need_no_descriptor_for_each_data_file) {
  constexpr int files = 40, steps = 5;
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "x0", .type = "int64"});
  define_variable(
      group, {.name = "T", .type = "double", .dimensions = "2", .global = "80", .offsets = "x0"});
  Method method;
  apply_hints(method, "subfiling=ranks;subfile_ranks=1", "the test");
  run_as_threads(files, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, at("a.bp"), group, method, false);
    for (int step = 0; step < steps; ++step) {
      const std::int64_t first = 2 * comm.rank();
      const std::array<double, 2> values{100.0 * step + 2 * comm.rank(), 3};
      file->write("x0", &first, false);
      file->write("T", values.data(), false);
      file->end_step();
    }
    file->close();
  });
  ASSERT_TRUE(fs::exists(at("a.bp/data.39")));
  const std::string whole = run({"dump", at("a.bp")});
  const FewDescriptors few(30);
  EXPECT_EQ(run({"dump", at("a.bp")}), whole);
  const std::string checked = run({"check", "--decode", at("a.bp")});
  EXPECT_EQ(status_, exit_done) << checked;
  EXPECT_NE(checked.find("a.bp: ok"), std::string::npos) << checked;
  for (const char* const to : {"b.nc", "b.bp"}) {
    const std::string text = run({"convert", at("a.bp"), at(to)});
    EXPECT_EQ(status_, exit_done) << text;
    EXPECT_NE(run({"diff", at("a.bp"), at(to)}).find("same: "), std::string::npos);
    EXPECT_EQ(status_, exit_done);
  }
  EXPECT_NE(run({"find", "--values", "T > 470", at("a.bp")}).find("in 1 of 5 steps"),
            std::string::npos);
  fs::remove(at("a.bp/md.0"));
  fs::remove(at("a.bp/md.idx"));
  EXPECT_NE(run({"recover", at("a.bp")}).find("recovered"), std::string::npos);
  EXPECT_EQ(run({"dump", at("a.bp")}), whole);
}

// Too few for any data file: the file is not damaged.
TEST_F(GroupsCommandsTest, without_descriptors_no_file_is_called_damaged) {
  write_group(at("a.bp"), "", true);
  const int next = ::dup(0);
  ::close(next);
  int refused = 0;
  for (int more = 0; more < 8; ++more) {
    BpCheck check;
    const auto failed = attempt_to([&] {
      const FewDescriptors few(static_cast<rlim_t>(next + more));
      check = check_bp(at("a.bp"), true);
    });
    EXPECT_TRUE(check.faults.empty()) << more << check.faults.front();
    if (failed) {
      EXPECT_EQ(failed->code(), Errc::enfile) << more << failed->message();
    }
    refused += failed.has_value();
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 8);
}

TEST_F(GroupsCommandsTest, steps_that_wait_in_logs_are_told) {
  if (!is_built("stage=burst")) GTEST_SKIP() << "it is of another wing";
  fs::create_directory(at("logs"));
  write_group(at("a.bp"), "stage=burst;nc_burst_buf_dirname=" + at("logs"), false);
  for (const char* const command : {"ls", "info", "check", "dump"})
    EXPECT_NE(run({command, at("a.bp")}).find("forebay recover"), std::string::npos) << command;
  EXPECT_EQ(run({"log", at("a.bp")}).find("no staging logs"), std::string::npos);
  run({"recover", at("a.bp")});
  EXPECT_EQ(run({"ls", at("a.bp")}).find("forebay recover"), std::string::npos);
}

}  // namespace groups_commands_test
}  // namespace forebay::tools
