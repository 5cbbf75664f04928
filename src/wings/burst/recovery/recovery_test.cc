// Recovery of hand-made logs, whole and damaged.
#include "stage/recovery.h"

#include <sys/wait.h>

#include <csignal>

#include "burst/recovery/recovery_testing.h"
#include "support/cases.h"

namespace forebay {
namespace recovery_test {

TEST_F(RecoveryTest, staged_writes_reach_the_file_and_nothing_is_left) {
  leave_two_ranks();
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_TRUE(session.done && session.removed);
  EXPECT_EQ(session.logs, 2);
  EXPECT_EQ(session.replayed_writes, 4);
  EXPECT_EQ(session.replayed_bytes, 2 * (32 + 4));
  EXPECT_EQ(session.skipped_writes, 0);
  EXPECT_TRUE(session.damage.empty() && session.notes.empty());
  expect_two_ranks();
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(recover(Comm(), file_, {}).sessions.empty());
}

TEST_F(RecoveryTest, directory_leads_to_the_same) {
  leave_two_ranks();
  const auto session = recover_one(logs_);
  EXPECT_FALSE(session.error) << session.error->what();
  expect_two_ranks();
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(recover(Comm(), logs_, {}).sessions.empty());
}

TEST_F(RecoveryTest, keeping_the_logs_and_doing_it_again_gives_the_same_file) {
  leave_two_ranks();
  RecoveryOptions keep;
  keep.keep = true;
  EXPECT_FALSE(recover_one(file_, keep).error);
  const std::string once = load(file_);
  EXPECT_FALSE(recover_one(file_, keep).error);
  EXPECT_EQ(load(file_), once);
  EXPECT_FALSE(recover_one(file_).error);
  EXPECT_EQ(load(file_), once);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, looking_changes_nothing) {
  leave_two_ranks();
  RecoveryOptions list, verify;
  list.list_only = verify.verify_only = true;
  auto session = recover_one(file_, list);
  EXPECT_FALSE(session.error);
  EXPECT_EQ(session.writes, 4);
  EXPECT_EQ(session.bytes, 72);
  EXPECT_FALSE(session.done);
  session = recover_one(file_, verify);
  EXPECT_FALSE(session.error);
  EXPECT_EQ(session.replayed_writes, 0);
  EXPECT_EQ(load(file_), before_);
  EXPECT_FALSE(nothing_is_left());
}

TEST_F(RecoveryTest, directories_that_are_taken_as_files_get_their_writes) {
  std::filesystem::remove(file_);
  make({{"container", "directory"}});
  leave_two_ranks();
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  expect_two_ranks();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, later_writes_of_a_rank_win) {
  auto log = writer(header(0, 1), state());
  for (int i = 0; i < 5; ++i)
    stage(*log, P, Type::int32, {{i % 2}, {2}, {}}, std::vector<std::int32_t>{i, i});
  log.reset();
  leave_control(1);
  EXPECT_FALSE(recover_one(file_).error);
  EXPECT_EQ(values(P, {{0}, {4}, {}}), (std::vector<double>{4, 4, 3, -1}));
}

TEST_F(RecoveryTest, pieces_are_placed_record_by_record) {
  auto log = writer(header(0, 1), state());
  auto runs = std::make_shared<RunList>();
  runs->runs = {{4 * nx, 8}, {2 * 4 * nx + 12, 4}};
  runs->bytes = 12;
  staging::Write write;
  write.var = T;
  write.type = Type::float32;
  write.last_record = 3;
  write.selection = log->add_pieces({runs});
  std::array<float, 3> data{7, 8, 9};
  const iovec piece{data.data(), sizeof data};
  log->add(write, {&piece, 1});
  log->commit();
  log.reset();
  leave_control(1);
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(records(), 3);
  EXPECT_EQ(values(T, {{1, 0}, {1, 2}, {}}), (std::vector<double>{7, 8}));
  EXPECT_EQ(values(T, {{2, 3}, {1, 1}, {}}), (std::vector<double>{9}));
}

TEST_F(RecoveryTest, epochs_that_were_flushed_are_not_replayed) {
  for (Rank r = 0; r < 2; ++r) stage_usual(*writer(header(r, 2), state(r == 0 ? 4 : 5)), r, 1 + r);
  leave_control(2, 5);
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error);
  EXPECT_EQ(session.finished_logs, 1);
  EXPECT_EQ(session.replayed_writes, 2);
  EXPECT_EQ(values(P, {{0}, {2}, {}}), (std::vector<double>{-1, 1}));
}

TEST_F(RecoveryTest, log_that_is_ahead_of_the_control_file_is_believed) {
  for (Rank r = 0; r < 2; ++r) stage_usual(*writer(header(r, 2), state(r == 0 ? 4 : 5)), r, 1 + r);
  leave_control(2, 4);
  EXPECT_EQ(recover_one(file_).replayed_writes, 2);
}

TEST_F(RecoveryTest, closed_session_is_cleaned_up_though_logs_are_gone) {
  leave_two_ranks();
  StagingControl::take_over(StagingControl::path_of(file_))->set_closed(1);
  remove_logs(stem(0));
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(load(file_), before_);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, closed_session_is_cleaned_up_though_the_directory_is_gone) {
  leave_two_ranks();
  StagingControl::take_over(StagingControl::path_of(file_))->set_closed(1);
  std::filesystem::remove_all(logs_);
  EXPECT_FALSE(recover_one(file_).error);
  EXPECT_FALSE(std::filesystem::exists(StagingControl::path_of(file_)));
}

TEST_F(RecoveryTest, records_are_as_many_as_the_log_says_at_least) {
  staging::State least = state();
  least.least_records = 6;
  writer(header(0, 1), least);
  leave_control(1);
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(records(), 6);
}

TEST_F(RecoveryTest, logs_of_a_node_are_taken_apart) {
  for (Rank r = 0; r < 3; ++r) {
    staging::Header shared = header(r, 3);
    shared.share.part = r;
    shared.share.parts = 3;
    stage_usual(*writer(shared, state()), r, 1 + r);
  }
  leave_control(3);
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(session.logs, 3);
  EXPECT_EQ(records(), 4);
  EXPECT_EQ(values(P, {{0}, {4}, {}}), (std::vector<double>{0, 1, 2, -1}));
  EXPECT_TRUE(nothing_is_left());
}

// -- faults

TEST_F(RecoveryTest, living_job_is_left_alone) {
  leave_two_ranks();
  const auto control = StagingControl::take_over(StagingControl::path_of(file_));
  auto session = recover_one(file_);
  EXPECT_EQ(session.error->code(), Errc::eperm);
  EXPECT_EQ(session.job, Liveness::alive);
  RecoveryOptions list;
  list.list_only = true;
  session = recover_one(logs_, list);
  EXPECT_FALSE(session.error);
  EXPECT_EQ(session.job, Liveness::alive);
  EXPECT_EQ(session.writes, 4);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, missing_log_is_refused_unless_asked_for) {
  leave_two_ranks();
  remove_logs(stem(1));
  auto session = recover_one(file_);
  EXPECT_EQ(session.error->code(), Errc::ebadlog);
  EXPECT_EQ(session.missing, std::vector<Rank>{1});
  EXPECT_EQ(load(file_), before_);
  RecoveryOptions partial;
  partial.partial = true;
  session = recover_one(file_, partial);
  EXPECT_FALSE(session.error);
  EXPECT_EQ(session.replayed_writes, 2);
  EXPECT_EQ(values(P, {{0}, {2}, {}}), (std::vector<double>{0, -1}));
}

// That rank had written all that it staged.
TEST_F(RecoveryTest, log_that_its_rank_could_not_keep_is_not_missed) {
  leave_two_ranks();
  std::filesystem::rename(records_path(stem(1)), lost_path(stem(1)));
  std::filesystem::remove(data_path(stem(1)));
  const auto session = recover_one(file_);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_TRUE(session.missing.empty());
  EXPECT_EQ(session.replayed_writes, 2);
  EXPECT_EQ(values(P, {{0}, {2}, {}}), (std::vector<double>{0, -1}));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, missing_half_of_a_log_is_damage) {
  leave_two_ranks();
  std::filesystem::remove(data_path(stem(1)));
  EXPECT_EQ(recover_one(file_).error->code(), Errc::ebadlog);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, missing_directory_is_named_with_the_host) {
  leave_two_ranks();
  std::filesystem::remove_all(logs_);
  const auto session = recover_one(file_);
  EXPECT_EQ(session.error->code(), Errc::enoent);
  EXPECT_NE(session.error->message().find(logs_), std::string::npos);
  EXPECT_NE(session.error->advice().find(session.host), std::string::npos);
  EXPECT_FALSE(session.host.empty());
}

TEST_F(RecoveryTest, logs_that_no_control_file_names_need_the_file_to_be_named) {
  leave_two_ranks();
  std::filesystem::remove(StagingControl::path_of(file_));
  EXPECT_TRUE(recover(Comm(), file_, {}).sessions.empty());
  EXPECT_EQ(recover_one(logs_).error->code(), Errc::ebadlog);
  EXPECT_EQ(load(file_), before_);
  RecoveryOptions named;
  named.file = file_;
  EXPECT_FALSE(recover_one(logs_, named).error);
  expect_two_ranks();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RecoveryTest, logs_of_an_older_session_are_refused) {
  leave_two_ranks();
  StagingInfo newer = StagingControl::read(StagingControl::path_of(file_))->info;
  std::filesystem::remove(StagingControl::path_of(file_));
  newer.session = 77;
  StagingControl::create(newer).reset();
  EXPECT_EQ(recover_one(logs_).error->code(), Errc::ebadlog);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, file_of_other_definitions_is_refused) {
  leave_two_ranks();
  const std::string replacement = directory_ + "/other.nc";
  auto ds = Dataset::create(Comm(), replacement, 5, false, {});
  const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", nx + 1);
  ds->def_var("T", Type::float32, std::array{t, x});
  ds->def_var("P", Type::int32, std::array{x});
  ds->close();
  std::filesystem::rename(replacement, file_);
  const std::string other = load(file_);
  EXPECT_EQ(recover_one(file_).error->code(), Errc::ebadlog);
  EXPECT_EQ(load(file_), other);
  EXPECT_FALSE(nothing_is_left());
}

TEST_F(RecoveryTest, file_that_is_gone_is_an_error_and_the_logs_stay) {
  leave_two_ranks();
  std::filesystem::rename(file_, file_ + ".moved");
  EXPECT_EQ(recover_one(file_).error->code(), Errc::enoent);
  EXPECT_EQ(recover_one(logs_).error->code(), Errc::enoent);
  RecoveryOptions moved;
  moved.file = file_ + ".moved";
  EXPECT_FALSE(recover_one(file_, moved).error);
  std::filesystem::rename(file_ + ".moved", file_);
  expect_two_ranks();
}

TEST_F(RecoveryTest, file_and_control_file_may_have_been_moved) {
  leave_two_ranks();
  const std::string moved = directory_ + "/b.nc";
  std::filesystem::rename(file_, moved);
  std::filesystem::rename(StagingControl::path_of(file_), StagingControl::path_of(moved));
  const auto session = recover_one(moved);
  EXPECT_FALSE(session.error) << session.error->what();
  std::filesystem::rename(moved, file_);
  expect_two_ranks();
}

TEST_F(RecoveryTest, damaged_data_is_listed_and_the_rest_replayed_when_asked_for) {
  leave_two_ranks();
  std::string data = load(data_path(stem(1)));
  data[static_cast<std::size_t>(staging::data_begin) + 5] ^= 1;  // the first write's data
  save(data_path(stem(1)), data);
  auto session = recover_one(file_);
  EXPECT_EQ(session.error->code(), Errc::ebadlog);
  EXPECT_EQ(session.damage.size(), 1u);
  EXPECT_EQ(load(file_), before_);
  RecoveryOptions skip;
  skip.skip_damaged = true;
  session = recover_one(file_, skip);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(session.damage.size(), 1u);
  EXPECT_EQ(session.skipped_writes, 1);
  EXPECT_EQ(session.skipped_bytes, 32);
  EXPECT_EQ(session.replayed_writes, 3);
  EXPECT_EQ(values(P, {{0}, {2}, {}}), (std::vector<double>{0, 1}));
  EXPECT_EQ(records(), 2);
}

TEST_F(RecoveryTest, request_with_a_damaged_part_is_left_out_whole) {
  auto log = writer(header(0, 1), state());
  stage(*log, P, Type::int32, {{0}, {1}, {}}, std::vector<std::int32_t>{10}, true);
  stage(*log, P, Type::int32, {{1}, {1}, {}}, std::vector<std::int32_t>{11}, false);
  stage(*log, P, Type::int32, {{2}, {1}, {}}, std::vector<std::int32_t>{12}, false);
  log.reset();
  leave_control(1);
  std::string data = load(data_path(stem(0)));
  const auto at = data.find(static_cast<char>(11), static_cast<std::size_t>(staging::data_begin));
  data[at] ^= 1;
  save(data_path(stem(0)), data);
  RecoveryOptions skip;
  skip.skip_damaged = true;
  const auto session = recover_one(file_, skip);
  EXPECT_EQ(session.skipped_writes, 2);
  EXPECT_EQ(values(P, {{0}, {3}, {}}), (std::vector<double>{-1, -1, 12}));
}

TEST_F(RecoveryTest, writes_that_no_schema_allows_are_damage) {
  auto log = writer(header(0, 1), state());
  stage(*log, P, Type::int32, {{6}, {3}, {}}, std::vector<std::int32_t>{1, 2, 3});
  stage(*log, P, Type::float32, {{0}, {1}, {}}, std::vector<float>{1});
  stage(*log, P, Type::int32, {{0, 0}, {1, 1}, {}}, std::vector<std::int32_t>{1});
  stage(*log, 7, Type::int32, {{0}, {1}, {}}, std::vector<std::int32_t>{1});
  stage(*log, T, Type::float32, {{INT64_MAX / 8, 0}, {1, 1}, {}}, std::vector<float>{1});
  log.reset();
  leave_control(1);
  RecoveryOptions skip;
  skip.skip_damaged = true;
  const auto session = recover_one(file_, skip);
  EXPECT_FALSE(session.error) << session.error->what();
  EXPECT_EQ(session.damage.size(), 5u) << session.damage[0];
  EXPECT_EQ(session.replayed_writes, 0);
  EXPECT_EQ(load(file_), before_);
}

// For any flipped bit of a log there is an error, or the right contents. If the last entry is
// damaged, it looks like an unfinished entry: then there is a note, and the contents lack it. The
// log was flushed once, so its older state says that no entry counts.
TEST_F(RecoveryTest, no_flipped_bit_goes_unnoticed) {
  for (Rank r = 0; r < 2; ++r) {
    auto log = writer(header(r, 2), state());
    stage(*log, P, Type::int32, {{7}, {1}, {}}, std::vector<std::int32_t>{99});
    log->drop(log->mark(), state(1));
    stage_usual(*log, r, 1 + r);
  }
  leave_control(2, 1);
  const std::string control = load(StagingControl::path_of(file_));
  std::array<std::string, 2> paths{records_path(stem(1)), data_path(stem(1))};
  std::array<std::string, 2> whole{load(paths[0]), load(paths[1])};
  RecoveryOptions keep;
  keep.keep = true;
  EXPECT_FALSE(recover_one(file_, keep).error);
  const std::string right = load(file_);
  constexpr std::array<std::size_t, 2> begins{staging::header_bytes, staging::data_begin};
  Count errors = 0, notes = 0;
  for (std::size_t f = 0; f < 2; ++f) {
    for (std::size_t i = 0; i < whole[f].size();
         i = forebay_test::next_place<std::size_t>(i, 1, whole[f].size())) {
      // Most of both files is empty space; bytes before entries and data, and in slots, are not.
      const bool slots = f == 0 && i >= static_cast<std::size_t>(journal::slot_of(0));
      if (whole[f][i] == '\0' && i % 64 != 5 && i > 200 && i < begins[f] && !slots) continue;
      std::string damaged = whole[f];
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      save(paths[f], damaged);
      save(file_, before_);
      const auto session = recover_one(file_, keep);
      if (session.error) {
        ++errors;
        ASSERT_EQ(load(file_), before_) << paths[f] << ", byte " << i;
      } else if (!session.notes.empty()) {
        ++notes;
      } else {
        ASSERT_EQ(load(file_), right) << paths[f] << ", byte " << i;
      }
    }
    save(paths[f], whole[f]);
  }
  EXPECT_GT(errors, forebay_test::few_of(150));
  EXPECT_GT(notes, 10);
}

TEST_F(RecoveryTest, no_truncation_goes_unnoticed) {
  leave_two_ranks();
  std::array<std::string, 2> paths{records_path(stem(1)), data_path(stem(1))};
  std::array<std::string, 2> whole{load(paths[0]), load(paths[1])};
  RecoveryOptions keep;
  keep.keep = true;
  EXPECT_FALSE(recover_one(file_, keep).error);
  const std::string right = load(file_);
  for (std::size_t f = 0; f < 2; ++f) {
    const std::size_t begin = f == 0 ? staging::header_bytes : staging::data_begin;
    for (std::size_t size = 0; size < whole[f].size(); size += size < begin - 8 ? 397 : 1) {
      save(paths[f], whole[f].substr(0, size));
      save(file_, before_);
      const auto session = recover_one(file_, keep);
      if (session.error) {
        ASSERT_EQ(load(file_), before_) << paths[f] << ", " << size;
      } else {
        ASSERT_TRUE(f == 0 && size >= begin && session.replayed_writes < 4) << paths[f] << size;
      }
    }
    save(paths[f], whole[f]);
  }
}

TEST_F(RecoveryTest, other_version_and_byte_order_are_told) {
  leave_two_ranks();
  const std::string whole = load(records_path(stem(0)));
  std::string other = whole;
  other[6] = other[6] == 'L' ? 'B' : 'L';
  save(records_path(stem(0)), other);
  EXPECT_NE(std::string(recover_one(file_).error->what()).find("byte order"), std::string::npos);
  other = whole;
  ++other[5];
  save(records_path(stem(0)), other);
  EXPECT_NE(std::string(recover_one(file_).error->what()).find("version"), std::string::npos);
}

// Such logs are whole, so nobody may take them for damage and remove them.
TEST_F(RecoveryTest, logs_of_an_earlier_version_are_never_skipped) {
  leave_two_ranks();
  std::string other = load(records_path(stem(1)));
  other[3] = 'T';
  save(records_path(stem(1)), other);
  RecoveryOptions skip;
  skip.skip_damaged = skip.partial = true;
  const auto session = recover_one(file_, skip);
  ASSERT_TRUE(session.error);
  EXPECT_NE(std::string(session.error->what()).find("earlier version"), std::string::npos);
  EXPECT_FALSE(session.removed);
  EXPECT_EQ(load(records_path(stem(1))), other);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(RecoveryTest, control_file_tells_that_logs_are_being_removed) {
  leave_two_ranks();
  const std::string obstacle = records_path(stem(5));
  std::filesystem::create_directory(obstacle);
  RecoveryOptions skip;
  skip.skip_damaged = true;
  EXPECT_TRUE(recover_one(file_, skip).error);
  EXPECT_FALSE(std::filesystem::exists(records_path(stem(0))));
  expect_two_ranks();
  EXPECT_TRUE(StagingControl::read(StagingControl::path_of(file_))->info.closed);
  std::filesystem::remove(obstacle);
  EXPECT_FALSE(recover_one(file_).error);
  EXPECT_TRUE(nothing_is_left());
}

// In the first half of the attempts the kill comes after a number of reads, in the second half
// after a time, which also hits the clean-up.
TEST_F(RecoveryTest, killed_recovery_is_repeated_to_the_same_end) {
  leave_two_ranks();
  const std::string control = load(StagingControl::path_of(file_));
  std::filesystem::copy(logs_, directory_ + "/kept");
  constexpr int attempts = 60;
  int killed = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::filesystem::remove_all(logs_);
    std::filesystem::copy(directory_ + "/kept", logs_);
    save(StagingControl::path_of(file_), control);
    save(file_, before_);
    const pid_t child = ::fork();
    if (child == 0) {
      int calls = 0;
      recover(Comm(), file_, {}, [&](const char*, Count, Count) {
        if (++calls == attempt % 10 + 1 && attempt < attempts / 2) ::raise(SIGKILL);
      });
      ::_exit(0);
    }
    if (attempt >= attempts / 2) {
      ::usleep(static_cast<useconds_t>(100 + attempt * 37 % 1500));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    for (const RecoveredSession& session : recover(Comm(), file_, {}).sessions)
      ASSERT_FALSE(session.error) << attempt << ": " << session.error->what();
    expect_two_ranks();
    ASSERT_TRUE(nothing_is_left()) << attempt;
  }
  EXPECT_GT(killed, 20);
}

}  // namespace recovery_test
}  // namespace forebay
