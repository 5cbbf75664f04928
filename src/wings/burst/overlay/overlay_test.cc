// A file that is read with the writes laid over that a job left, or leaves, in logs.
#include <gtest/gtest.h>

#include <array>

#include "burst/overlay/snapshot.h"
#include "burst/recovery/recovery_testing.h"

namespace forebay {
namespace overlay_test {

class OverlayTest : public RecoveryTest {
 protected:
  std::unique_ptr<Dataset> open(const std::string& how = "overlay", const HintMap& more = {}) {
    HintMap hints = more;
    hints["recover"] = how;
    return Dataset::open(Comm(), file_, false, hints);
  }
  Error refused(const std::string& how = "overlay", const HintMap& more = {}) {
    try {
      open(how, more)->close();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "it was opened";
    return Error(Errc::ok, "");
  }
  static std::vector<double> get(Dataset& ds, VarId var, Subarray part) {
    std::vector<double> values(static_cast<std::size_t>(part.elements()));
    std::vector<Request> reads(1);
    reads[0].var = var;
    reads[0].elements = part.elements();
    reads[0].selection = std::move(part);
    reads[0].memory.data = reinterpret_cast<std::byte*>(values.data());
    reads[0].memory.type = Type::float64;
    ds.execute(reads, true);
    return values;
  }
  static std::vector<double> all_of(Dataset& ds, VarId var) {
    if (var == P) return get(ds, var, {{0}, {nx}, {}});
    return get(ds, var, {{0, 0}, {ds.schema().numrecs, nx}, {}});
  }
  // What is read over the logs is what a recovery makes of them, and reading changes nothing.
  void expect_like_recovery() {
    const std::string log = load(records_path(stem(0)));
    auto ds = open();
    const Count numrecs = ds->schema().numrecs;
    const auto t = all_of(*ds, T), p = all_of(*ds, P);
    const auto strided = get(*ds, T, {{0, 1}, {numrecs, 3}, {1, 2}});
    ds->close();
    EXPECT_EQ(load(file_), before_);
    EXPECT_EQ(load(records_path(stem(0))), log);
    const auto session = recover_one(file_);
    EXPECT_FALSE(session.error) << session.error->what();
    EXPECT_EQ(records(), numrecs);
    EXPECT_EQ(values(T, {{0, 0}, {numrecs, nx}, {}}), t);
    EXPECT_EQ(values(T, {{0, 1}, {numrecs, 3}, {1, 2}}), strided);
    EXPECT_EQ(values(P, {{0}, {nx}, {}}), p);
  }
};

TEST_F(OverlayTest, reads_what_a_recovery_makes_of_the_logs) {
  leave_two_ranks();
  expect_like_recovery();
}

TEST_F(OverlayTest, later_writes_of_a_rank_win_and_those_of_higher_ranks) {
  for (Rank r = 0; r < 2; ++r) {
    auto log = writer(header(r, 2), state());
    for (int time = 0; time < 6; ++time) {
      stage(*log, T, Type::float32, {{time % 3, r}, {1, 3}, {}},
            std::vector<float>(3, static_cast<float>(10 * r + time)));
      stage(*log, P, Type::int32, {{time}, {2}, {}}, std::vector<std::int32_t>(2, 100 * r + time));
    }
  }
  leave_control(2);
  expect_like_recovery();
}

TEST_F(OverlayTest, a_record_of_which_a_part_was_staged_is_like_after_a_recovery) {
  stage(*writer(header(0, 1), state()), T, Type::float32, {{3, 2}, {1, 4}, {2, 1}},
        std::vector<float>{1, 2, 3, 4});
  leave_control(1);
  expect_like_recovery();
}

TEST_F(OverlayTest, a_node_s_log_is_read_too) {
  for (Rank r = 0; r < 3; ++r) {
    auto mine = header(r, 3);
    mine.share = {r, 3, 64 << 10, 1 << 20};
    stage_usual(*writer(mine, state()), r, 1 + r);
  }
  leave_control(3);
  auto ds = open();
  EXPECT_EQ(ds->schema().numrecs, 4);
  EXPECT_EQ(get(*ds, T, {{1, 0}, {3, 1}, {}}), (std::vector<double>{0, 100, 200}));
  EXPECT_EQ(get(*ds, P, {{0}, {4}, {}}), (std::vector<double>{0, 1, 2, -1}));
  ds->close();
}

TEST_F(OverlayTest, what_is_in_the_file_already_and_half_requests_do_not_count) {
  auto finished = writer(header(0, 2), state(0));
  stage_usual(*finished, 0, 1);
  auto log = writer(header(1, 2), state(1));
  stage_usual(*log, 1, 2);
  stage(*log, P, Type::int32, {{5}, {1}, {}}, std::vector<std::int32_t>{5}, true);
  leave_control(2, 1);
  auto ds = open();
  EXPECT_EQ(ds->schema().numrecs, 3);
  EXPECT_EQ(all_of(*ds, P), (std::vector<double>{-1, 1, -1, -1, -1, -1, -1, -1}));
  ds->close();
  expect_like_recovery();
}

TEST_F(OverlayTest, records_that_only_a_state_knows_are_there) {
  auto early = state();
  early.least_records = 4;
  writer(header(0, 1), early);
  leave_control(1);
  expect_like_recovery();
}

TEST_F(OverlayTest, logs_that_are_not_seen_are_named_or_left_out) {
  leave_two_ranks();
  remove_logs(stem(1));
  const Error error = refused();
  EXPECT_EQ(error.code(), Errc::ebadlog);
  EXPECT_NE(error.message().find("rank 1"), std::string::npos) << error.message();
  EXPECT_NE(error.advice().find("overlay-partial"), std::string::npos);
  auto ds = open("overlay-partial");
  EXPECT_EQ(ds->schema().numrecs, 2);
  EXPECT_EQ(get(*ds, P, {{0}, {3}, {}}), (std::vector<double>{0, -1, -1}));
  ds->close();
  std::filesystem::remove_all(logs_);
  EXPECT_EQ(refused().code(), Errc::ebadlog);
  ds = open("overlay-partial");
  EXPECT_EQ(ds->schema().numrecs, 1);
  ds->close();
}

TEST_F(OverlayTest, a_log_that_its_rank_lost_is_not_missing) {
  leave_two_ranks();
  remove_logs(stem(0));
  save(lost_path(stem(0)), "");
  auto ds = open();
  EXPECT_EQ(get(*ds, P, {{0}, {3}, {}}), (std::vector<double>{-1, 1, -1}));
  ds->close();
}

TEST_F(OverlayTest, damage_is_an_error_wherever_it_is) {
  leave_two_ranks();
  const std::string path = records_path(stem(1)), good = load(path);
  int opened = 0;
  for (std::size_t at = 0; at < good.size(); at += 37) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x5a);
    save(path, bad);
    try {
      auto ds = open();
      ++opened;  // unused bytes, or the last entry, which counts as not written
      const auto p = all_of(*ds, P);
      EXPECT_TRUE(p[1] == 1 || p[1] == -1);
      ds->close();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::ebadlog) << at << ": " << error.what();
    }
  }
  EXPECT_GT(opened, 0);
  save(path, good);
  for (std::size_t length = 0; length < good.size(); length += 101) {
    save(path, good.substr(0, length));
    try {
      auto ds = open();
      EXPECT_GE(length, static_cast<std::size_t>(journal::header_bytes));
      ds->close();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::ebadlog) << length << ": " << error.what();
    }
  }
}

TEST_F(OverlayTest, damaged_data_is_an_error_of_the_read_that_needs_them) {
  leave_two_ranks();
  const std::string path = data_path(stem(0));
  std::string bytes = load(path);
  bytes[static_cast<std::size_t>(journal::data_begin) + 3] ^= 1;
  save(path, bytes);
  auto ds = open();
  EXPECT_EQ(get(*ds, T, {{2, 0}, {1, 1}, {}}), std::vector<double>{100});
  try {
    get(*ds, T, {{1, 0}, {1, 1}, {}});
    ADD_FAILURE() << "damaged data were read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::ebadlog);
  }
  EXPECT_EQ(get(*ds, P, {{0}, {2}, {}}), (std::vector<double>{0, 1}));
  ds->close();
}

TEST_F(OverlayTest, impossible_writes_and_other_definitions_are_refused) {
  {
    auto log = writer(header(0, 1), state());
    stage(*log, P, Type::int32, {{7}, {2}, {}}, std::vector<std::int32_t>{1, 2});
  }
  leave_control(1);
  EXPECT_EQ(refused().code(), Errc::ebadlog);
  auto other = state();
  ++other.schema;
  stage_usual(*writer(header(0, 1), other), 0, 1);
  const Error error = refused();
  EXPECT_EQ(error.code(), Errc::ebadlog);
  EXPECT_NE(error.message().find("definitions"), std::string::npos) << error.message();
}

TEST_F(OverlayTest, memory_for_records_is_bounded) {
  {
    auto log = writer(header(0, 1), state());
    for (int i = 0; i < 500; ++i)
      stage(*log, P, Type::int32, {{i % 8}, {1}, {}}, std::vector<std::int32_t>{i});
  }
  leave_control(1);
  EXPECT_EQ(refused("overlay", {{"buffer_limit", "4k"}}).code(), Errc::enomem);
  auto ds = open();
  EXPECT_EQ(get(*ds, P, {{3}, {1}, {}}), std::vector<double>{499});
  ds->close();
}

TEST_F(OverlayTest, no_coarser_level_of_staged_writes_is_made_up) {
  leave_two_ranks();
  auto ds = Dataset::open(Comm(), file_, false, {{"recover", "ignore"}});
  const Comm alone;
  burst::Snapshot snapshot(alone, file_, false, 1 << 20);
  snapshot.take(ds->schema());
  Request read;
  read.var = T;
  read.level = 1;
  EXPECT_THROW(snapshot.overlay(ds->schema(), read), Error);
  ds->close();
}

TEST_F(OverlayTest, only_readers_get_it) {
  leave_two_ranks();
  EXPECT_THROW(Dataset::open(Comm(), file_, true, {{"recover", "overlay"}}), Error);
  EXPECT_EQ(load(file_), before_);
}

TEST_F(OverlayTest, a_file_without_logs_is_read_as_ever) {
  auto ds = open();
  EXPECT_EQ(ds->schema().numrecs, 1);
  // The job begins after the file was opened: a sync sees what it stages.
  leave_two_ranks();
  EXPECT_EQ(get(*ds, P, {{0}, {2}, {}}), (std::vector<double>{-1, -1}));
  ds->sync();
  EXPECT_EQ(ds->schema().numrecs, 3);
  EXPECT_EQ(get(*ds, P, {{0}, {2}, {}}), (std::vector<double>{0, 1}));
  ds->close();
}

// The writer drops its log and uses it again, as it does after a flush; the file is not written
// here, so what was dropped is seen to be gone.
TEST_F(OverlayTest, a_log_that_is_used_again_is_noticed) {
  auto log = writer(header(0, 1), state());
  StagingInfo info;
  info.session = id;
  info.ranks = 1;
  info.directory = logs_;
  info.file = file_;
  auto control = StagingControl::create(info);
  auto ds = open();
  for (int time = 1; time < 7; ++time) {
    stage(*log, P, Type::int32, {{time}, {1}, {}}, std::vector<std::int32_t>{time});
    // Nothing is seen before a sync, unless the log was dropped since the last snapshot.
    if (time == 1) {
      EXPECT_EQ(get(*ds, P, {{time}, {1}, {}}), std::vector<double>{-1});
      ds->sync();
    }
    EXPECT_EQ(get(*ds, P, {{time}, {1}, {}}), std::vector<double>(1, time));
    control->set_flushed(static_cast<std::uint64_t>(time));
    log->drop(log->mark(), state(static_cast<std::uint64_t>(time)));
    stage(*log, P, Type::int32, {{0}, {1}, {}}, std::vector<std::int32_t>{-10 * time});
    EXPECT_EQ(get(*ds, P, {{0}, {2}, {}})[0], -10 * time);
    EXPECT_EQ(get(*ds, P, {{time}, {1}, {}}), std::vector<double>{-1});
    control->set_flushed(static_cast<std::uint64_t>(time) + 1);
    log->drop(log->mark(), state(static_cast<std::uint64_t>(time) + 1));
  }
  ds->close();
}

}  // namespace overlay_test
}  // namespace forebay
