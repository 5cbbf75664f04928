// A group that is written to several files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
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

TEST_F(SeveralWritersRanks, what_is_there_stays_if_one_method_is_refused) {
  {
    const auto file = GroupFile::create(Comm(), both(), group_of_own(), false);
    for (int step = 1; step < 6; ++step) write_step(Comm(), *file, step);
    file->close();
  }
  const auto refuse = [&](const GroupTarget& second) {
    run_as_threads(3, [&](const Comm& comm) {
      const auto failed = attempt_to([&] {
        GroupFile::create(comm, {both()[0], second}, group_of_own(), false)->close();
      });
      EXPECT_TRUE(failed) << second.path;
    });
    EXPECT_EQ(GroupReader(Comm(), path("run.bp")).steps(), 5) << second.path;
    EXPECT_EQ(GroupReader(Comm(), path("run.nc")).steps(), 5) << second.path;
  };
  refuse({path("nowhere/run.nc"), method_of("layout=canonical")});
  refuse({path("run.nc"), method_of("layout=canonical;bp_version=3")});
  fs::create_directory_symlink(folder_, folder_ / "link");
  refuse({path("link/run.bp"), method_of("layout=process-group")});
}

TEST_F(SeveralWritersRanks, what_was_refused_before_it_reached_a_file_can_be_repeated) {
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "n", .type = "int32"});
  define_variable(group, {.name = "v", .type = "double", .dimensions = "n"});
  const auto file = GroupFile::create(Comm(), both(), group, false);
  const std::vector<double> values(5, 3);
  for (std::int32_t step = 0; step < 5; ++step) {
    const std::int32_t n = 5;
    EXPECT_THROW(file->write("v", values.data(), false), Error) << "n is not known";
    file->write("n", &n, false);
    file->write("v", values.data(), false);
    EXPECT_THROW(file->write("v", values.data(), false), Error) << "twice";
    file->end_step();
  }
  file->close();
  for (const char* const name : {"run.bp", "run.nc"})
    EXPECT_EQ(GroupReader(Comm(), path(name)).blocks("v", 4), 1) << name;
}

// netCDF refuses each second block; its histograms are those of the blocks that it has.
TEST_F(SeveralWritersRanks, histograms_go_with_their_blocks) {
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "own",
                          .type = "double",
                          .dimensions = "1,1",
                          .characteristics = "histogram:0,10,10"});
  const auto file = GroupFile::create(Comm(), both(), group, false);
  constexpr int blocks = 6;
  std::vector<std::vector<double>> values;
  for (int block = 0; block < blocks; ++block) values.emplace_back(6, block + 0.5);
  for (int block = 0; block < blocks; ++block) {
    const std::int64_t count[] = {2, block % 2 == 0 ? 3 : 2};
    const auto failed = attempt_to([&] {
      file->write_box("own", {nullptr, nullptr, count},
                      values[static_cast<std::size_t>(block)].data(), block % 3 == 0);
    });
    EXPECT_EQ(failed.has_value(), block % 2 == 1) << block;
  }
  file->end_step();
  file->close();
  const GroupReader bp(Comm(), path("run.bp"));
  const std::string histogram = group.variables[1].name;
  ASSERT_EQ(bp.blocks("own", 0), blocks);
  ASSERT_EQ(bp.blocks(histogram, 0), blocks);
  for (int block = 0; block < blocks; ++block) {
    std::vector<double> its(6);
    std::vector<std::int64_t> counts(12);
    bp.read_block("own", 0, block, its.data());
    bp.read_block(histogram, 0, block, counts.data());
    const auto bin = static_cast<std::size_t>(its[0]) + 1;
    EXPECT_EQ(counts[bin], block % 2 == 0 ? 6 : 4) << block;
  }
  // There the blocks of a rank follow one another.
  const GroupReader records(Comm(), path("run.nc"));
  std::vector<std::int64_t> counts(12 * blocks / 2);
  ASSERT_EQ(records.blocks(histogram, 0), 1);
  records.read_block(histogram, 0, 0, counts.data());
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 6 * blocks / 2);
}

// The file that comes first was made already.
TEST_F(SeveralWritersRanks, a_file_that_cannot_be_made_is_an_error_on_all_ranks) {
  run_as_threads(3, [&](const Comm& comm) {
    auto targets = both();
    targets[1].path = path("folder.nc");
    if (comm.is_root()) fs::create_directories(folder_ / "folder.nc" / "full");
    comm.meet();
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
