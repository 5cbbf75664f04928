// Names of logs, and the list of those in a directory.
#include "burst/recovery/recovery_testing.h"
#include "store/journal_files.h"

namespace forebay {
namespace staging_files_test {

TEST(LogName, is_read_back) {
  const std::string stem = log_stem("/tmp/logs/", "/data/a.b.nc", 0x12ab, false, 17);
  EXPECT_EQ(stem, "/tmp/logs/a.b.nc.00000000000012ab.17");
  EXPECT_EQ(parse_log_name("a.b.nc.00000000000012ab.17.records"),
            (LogName{"a.b.nc", 0x12ab, false, 17, true}));
  EXPECT_EQ(parse_log_name("a.b.nc.00000000000012ab.n8.data"),
            (LogName{"a.b.nc", 0x12ab, true, 8, false}));
  EXPECT_EQ(parse_log_name("a.b.nc.00000000000012ab.17.lost"),
            (LogName{"a.b.nc", 0x12ab, false, 17, false, true}));
}

TEST(LogName, of_a_dataset_with_a_long_name_is_a_possible_file_name) {
  const std::string stem = log_stem("/d", "/" + std::string(255, 'x'), 1, true, 1234567);
  EXPECT_LE(records_path(stem).size() - 3, 255u);
  const auto name = parse_log_name(records_path(stem).substr(3));
  ASSERT_TRUE(name);
  EXPECT_EQ(name->dataset, std::string(200, 'x'));
}

TEST(LogName, of_other_files_is_none) {
  for (const char* other :
       {"", "a.nc", "a.nc.staging", ".records", "a.nc.17.records", "a.nc.00000000000012ab.records",
        "a.nc.00000000000012ab.-1.records", "a.nc.00000000000012ab.017.records",
        "a.nc.00000000000012ab.x8.records", "a.nc.00000000000012AB.8.records", "a.nc.2ab.8.records",
        "a.nc.00000000000012ab.8.record", "a.nc.00000000000012ab.n.data",
        "a.nc.00000000000012ab.99999999999.data", "a.nc.00000000000012ag.8.data"}) {
    EXPECT_FALSE(parse_log_name(other)) << other;
  }
}

using LogFilesTest = RecoveryTest;

TEST_F(LogFilesTest, logs_are_grouped_by_session_and_rank) {
  leave_two_ranks();
  for (Rank r = 0; r < 3; ++r) {
    journal::Header shared = header(r, 3);
    shared.session = id + 1;
    shared.share.part = r;
    shared.share.parts = 3;
    stage_usual(*writer(shared, state()), r, 1 + r);
  }
  save(logs_ + "/readme.txt", "no log");
  const FoundLogs found = find_logs(logs_);
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.sessions.size(), 2u);
  EXPECT_EQ(found.sessions[0].session, id);
  EXPECT_EQ(found.sessions[0].file, file_);
  EXPECT_EQ(found.sessions[0].ranks, 2);
  EXPECT_FALSE(found.sessions[0].per_node);
  ASSERT_EQ(found.sessions[0].logs.size(), 2u);
  EXPECT_EQ(found.sessions[0].logs[1].header.rank, 1);
  EXPECT_TRUE(found.sessions[1].per_node);
  ASSERT_EQ(found.sessions[1].logs.size(), 3u);
  EXPECT_EQ(found.sessions[1].logs[2].header.share.part, 2);
  EXPECT_EQ(find_logs(logs_, id).sessions.size(), 1u);
}

TEST_F(LogFilesTest, what_cannot_be_read_is_listed_with_the_reason) {
  leave_two_ranks();
  std::filesystem::remove(data_path(stem(0)));
  std::filesystem::rename(records_path(stem(1)), records_path(stem(5)));
  std::filesystem::rename(data_path(stem(1)), data_path(stem(5)));
  save(records_path(stem(2)), std::string(10000, 'x'));
  save(data_path(stem(2)), std::string(10000, 'x'));
  const FoundLogs found = find_logs(logs_);
  EXPECT_TRUE(found.sessions.empty());
  ASSERT_EQ(found.problems.size(), 3u);
  EXPECT_NE(found.problems[0].reason.find("missing"), std::string::npos);
  EXPECT_NE(found.problems[1].reason.find("no staging log"), std::string::npos);
  EXPECT_NE(found.problems[2].reason.find("another rank"), std::string::npos);
}

TEST_F(LogFilesTest, directory_that_is_not_there_is_an_error) {
  try {
    list_logs(logs_ + "/missing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::enoent);
  }
}

TEST_F(LogFilesTest, damaged_newer_state_is_not_taken_for_an_old_one) {
  {
    auto log = writer(header(0, 1), state());
    stage_usual(*log, 0, 1);
    journal::State next = state(1);
    log->drop(log->mark(), next);
  }
  const auto certain = [&] {
    const auto reader = open_log(stem(0), 0, report_);
    return state_is_certain(stem(0), *reader, report_);
  };
  EXPECT_TRUE(certain());
  std::string bytes = load(records_path(stem(0)));
  const auto reader = open_log(stem(0), 0, report_);
  const auto newest = static_cast<std::size_t>(journal::slot_of(reader->state().serial));
  for (const std::size_t at :
       {newest + 16, newest + static_cast<std::size_t>(store::slot_bytes) - 1}) {
    std::string damaged = bytes;
    damaged[at] ^= 4;
    save(records_path(stem(0)), damaged);
    EXPECT_FALSE(certain()) << at;
  }
}

}  // namespace staging_files_test
}  // namespace forebay
