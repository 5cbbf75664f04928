// A group that is written to several files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/records/group_file.h"
#include "groups/records/group_program_testing.h"
#include "groups/records/group_reader.h"
#include "groups/records/group_targets.h"

namespace forebay {
namespace several_writers_ranks_test {

namespace fs = std::filesystem;
using group_program::method_of;

class SeveralWritersRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_several_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<GroupTarget> both() const {
    return {{path("run.bp"), method_of("layout=process-group;buffer_limit=4k")},
            {path("run.nc"), method_of("layout=canonical;buffer_limit=4k")}};
  }

  fs::path folder_;
};

GroupDefinition group_of_own() {
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "first", .type = "int32", .steps = "once"});
  define_variable(group, {.name = "own", .type = "double", .dimensions = "1,1"});
  return group;
}

/// In step 0 blocks differ in what netCDF files have no word for.
void write_step(const Comm& comm, GroupFile& file, int step) {
  const std::int32_t first = 7;
  file.write("first", &first, step % 2 == 0);
  const std::int64_t count[] = {300, step == 0 ? comm.rank() + 1 : 2};
  const std::vector<double> values(static_cast<std::size_t>(count[0] * count[1]),
                                   10 * step + comm.rank());
  file.write_box("own", {nullptr, nullptr, count}, values.data(), false);
  file.end_step();
}

void check_step(const GroupReader& file, std::int64_t at, int step, int ranks) {
  ASSERT_EQ(file.blocks("own", at), ranks) << file.steps();
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<double> values(600);
    file.read_block("own", at, rank, values.data());
    EXPECT_EQ(values.front(), 10 * step + rank);
    EXPECT_EQ(values.back(), 10 * step + rank);
  }
}

TEST_F(SeveralWritersRanks, what_one_file_refuses_the_other_has) {
  constexpr int ranks = 3, steps = 6;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = GroupFile::create(comm, both(), group_of_own(), false);
    for (int step = 0; step < steps; ++step) {
      const auto failed = attempt_to([&] { write_step(comm, *file, step); });
      ASSERT_EQ(failed.has_value(), step == 0) << step << (failed ? failed->what() : "");
      if (failed) EXPECT_NE(std::string(failed->what()).find("run.nc"), std::string::npos);
    }
    file->sync();
    file->close();
  });
  const Comm one;
  const GroupReader bp(one, path("run.bp")), records(one, path("run.nc"));
  ASSERT_EQ(bp.steps(), steps);
  ASSERT_EQ(records.steps(), steps - 1);
  for (int step = 1; step < steps; ++step) {
    check_step(bp, step, step, ranks);
    check_step(records, step - 1, step, ranks);
  }
  for (const GroupReader* file : {&bp, &records}) {
    std::int32_t first = 0;
    file->read("first", 0, nullptr, nullptr, &first);
    EXPECT_EQ(first, 7) << "the first step of each file has it";
  }
  EXPECT_THROW(bp.blocks("first", 2), Error) << "and no other";
}

TEST_F(SeveralWritersRanks, a_variable_that_one_file_refused_is_not_written_twice) {
  const auto file = GroupFile::create(Comm(), both(), group_of_own(), false);
  const std::int64_t wide[] = {2, 3}, narrow[] = {2, 2};
  const std::vector<double> values(6, 1);
  file->write_box("own", {nullptr, nullptr, wide}, values.data(), false);
  const auto failed = attempt_to([&] {
    file->write_box("own", {nullptr, nullptr, narrow}, values.data(), false);
  });
  ASSERT_TRUE(failed);
  EXPECT_NE(std::string(failed->what()).find("run.nc"), std::string::npos) << failed->what();
  const std::int32_t first = 1;
  file->write("first", &first, false);
  EXPECT_THROW(file->write("first", &first, false), Error);
  file->end_step();
  file->close();
  const GroupReader bp(Comm(), path("run.bp")), records(Comm(), path("run.nc"));
  EXPECT_EQ(bp.blocks("own", 0), 2);
  EXPECT_EQ(records.blocks("own", 0), 1);
}

TEST_F(SeveralWritersRanks, files_go_on_with_equal_numbers_of_steps) {
  constexpr int ranks = 2;
  const auto write = [&](std::vector<GroupTarget> targets, int from, int to, bool append) {
    std::optional<Error> failed;
    run_as_threads(ranks, [&](const Comm& comm) {
      auto mine = attempt_to([&] {
        const auto file = GroupFile::create(comm, targets, group_of_own(), append);
        for (int step = from; step < to; ++step) write_step(comm, *file, step);
        file->close();
      });
      if (comm.is_root()) failed = std::move(mine);
    });
    return failed;
  };
  EXPECT_FALSE(write(both(), 1, 4, true)) << "there are none yet";
  EXPECT_FALSE(write(both(), 4, 7, true));
  EXPECT_FALSE(write({both()[1]}, 7, 8, true));
  const auto failed = write(both(), 8, 9, true);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::ebad_file);
  EXPECT_NE(std::string(failed->what()).find("has 7 steps, and "), std::string::npos)
      << failed->what();
  const GroupReader bp(Comm(), path("run.bp")), records(Comm(), path("run.nc"));
  EXPECT_EQ(bp.steps(), 6);
  EXPECT_EQ(records.steps(), 7);
  check_step(bp, 5, 6, ranks);
  check_step(records, 6, 7, ranks);
}

TEST_F(SeveralWritersRanks, nothing_is_made_of_methods_that_cannot_write_or_have_one_name) {
  const auto refused = [&](std::vector<GroupTarget> targets) {
    const auto failed = attempt_to(
        [&] { GroupFile::create(Comm(), std::move(targets), group_of_own(), false)->close(); });
    EXPECT_TRUE(fs::is_empty(folder_));
    return failed ? failed->code() : Errc::ok;
  };
  const Method bp = method_of("layout=process-group");
  EXPECT_EQ(refused({{path("a.bp"), bp}, {path("./a.bp"), bp}}), Errc::einval);
  EXPECT_EQ(refused({{path("a.zarr"), {}}, {path("a.bp"), bp}}), Errc::enotsupport);
}

// The file that comes first was made already.
TEST_F(SeveralWritersRanks, a_file_that_cannot_be_made_is_an_error_on_all_ranks) {
  run_as_threads(3, [&](const Comm& comm) {
    auto targets = both();
    targets[1].path = path("nowhere/run.nc");
    const auto failed =
        attempt_to([&] { GroupFile::create(comm, targets, group_of_own(), false); });
    EXPECT_TRUE(failed) << comm.rank();
    const auto file = GroupFile::create(comm, both(), group_of_own(), false);
    for (int step = 1; step < 6; ++step) write_step(comm, *file, step);
    file->close();
  });
  EXPECT_EQ(GroupReader(Comm(), path("run.bp")).steps(), 5);
}

}  // namespace several_writers_ranks_test
}  // namespace forebay
