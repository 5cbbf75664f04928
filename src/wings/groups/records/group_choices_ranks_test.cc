// layout=auto of groups: the path's ending and the first step's sizes decide.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "groups/process_group/bp_reader.h"
#include "groups/records/group_file.h"
#include "method/parts_testing.h"
#include "stage/recovery.h"

namespace forebay {
namespace group_choices_ranks_test {

namespace fs = std::filesystem;
using process_group::BpReader;

constexpr int ranks = 3;
constexpr std::int64_t much = (512 << 10) / 8, little = 100;  // doubles per rank

class GroupChoicesRanks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_choices_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "logs");
    path_ = folder_ / "run.bp";
    method_ = {};
    method_.burst_directory = folder_ / "logs";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<GroupFile> open(const Comm& comm, bool append = false) const {
    GroupDefinition group = define_group("g", "C");
    define_variable(
        group, {.name = "T", .type = "double", .dimensions = "1", .global = "1", .offsets = "0"});
    return GroupFile::create(comm, path_, group, method_, append);
  }
  static double value(std::uint64_t step, std::int64_t at) {
    return 1e9 * static_cast<double>(step) + static_cast<double>(at);
  }
  static void write(const Comm& comm, GroupFile& file, std::int64_t count) {
    const std::int64_t all = ranks * count, start = comm.rank() * count;
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value(file.steps(), start + i));
    file.write_box("T", {&all, &start, &count}, values.data(), false);
    file.end_step();
  }
  /// Writes a file of steps with so many elements per rank.
  void make(const std::vector<std::int64_t>& counts, bool append = false) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto file = open(comm, append);
      for (const std::int64_t count : counts) write(comm, *file, count);
      file->close();
    });
  }
  std::string data_files() const {
    std::string found;
    for (int n = 0; n < 10; ++n)
      if (fs::exists(path_ / ("data." + std::to_string(n)))) found += std::to_string(n);
    return found;
  }
  void check(const std::vector<std::int64_t>& counts) const {
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), counts.size());
    for (std::size_t step = 0; step < counts.size(); ++step) {
      std::vector<double> values(static_cast<std::size_t>(ranks * counts[step]));
      file.read(0, step, {{0}, {ranks * counts[step]}, {}},
                reinterpret_cast<std::byte*>(values.data()));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], value(step, static_cast<std::int64_t>(i)));
    }
  }
  std::string report() const {
    std::ifstream file(folder_ / "report.json");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_, path_;
  Method method_;
};

TEST_F(GroupChoicesRanks, the_first_step_tells_how_many_data_files_there_are) {
  method_.report = "json:" + (folder_ / "report.json").string();
  make({much, little});
  EXPECT_EQ(data_files(), "012");
  EXPECT_NE(report().find("layout=auto, as a step has 1536 KiB"), std::string::npos) << report();
  check({much, little});
  make({little, much});
  EXPECT_EQ(data_files(), "0");
  EXPECT_NE(report().find("layout=auto, as a step has 2 KiB"), std::string::npos) << report();
  check({little, much});
  make({much / 2});
  EXPECT_EQ(data_files(), "01");  // of two ranks, and of one
  check({much / 2});
  apply_hints(method_, "layout=auto", "the test");
  make({much});
  EXPECT_EQ(data_files(), "012");
  check({much});
}

TEST_F(GroupChoicesRanks, what_is_said_is_done) {
  for (const char* const said : {"subfiling=none", "layout=process-group"}) {
    SetUp();
    apply_hints(method_, said, "the test");
    make({much});
    EXPECT_EQ(data_files(), "0") << said;
    check({much});
  }
  SetUp();
  apply_hints(method_, "subfiling=ranks;subfile_ranks=1", "the test");
  make({little});
  EXPECT_EQ(data_files(), "012");
  check({little});
}

TEST_F(GroupChoicesRanks, a_file_that_is_gone_on_with_has_had_its_first_step) {
  make({much}, true);  // no step exists yet
  EXPECT_EQ(data_files(), "012");
  make({little}, true);
  EXPECT_EQ(data_files(), "012");
  check({much, little});
  make({little});
  make({much}, true);
  EXPECT_EQ(data_files(), "0");
  check({little, much});
}

// Covers groups that are written before their step ends, and steps that wait.
TEST_F(GroupChoicesRanks, all_stages_have_such_files) {
  for (const std::string stage : {"direct", "async", "burst"}) {
    if (!is_built("stage=" + stage)) continue;
    for (const Count limit : {64 << 20, 100'000}) {
      SetUp();
      apply_hints(method_, "stage=" + stage, "the test");
      method_.buffer_limit = limit;
      make({much, little, much});
      EXPECT_EQ(data_files(), limit < 1 << 20 ? "0123" : "012") << stage;
      check({much, little, much});
      make({much}, true);
      check({much, little, much, much});
    }
  }
}

// Blocks that are written early count by their own size, although only the last of many is still in
// memory.
TEST_F(GroupChoicesRanks, what_went_out_before_the_first_step_ended_counts) {
  method_.report = "json:" + (folder_ / "report.json").string();
  method_.buffer_limit = 100'000;
  constexpr std::int64_t blocks = 8, count = much / blocks;  // 64 KiB each: one fits at a time
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm);
    const std::vector<double> values(count, 1);
    const std::int64_t all = ranks * much;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t start = comm.rank() * much + b * count;
      file->write_box("T", {&all, &start, &count}, values.data(), false);
    }
    file->end_step();
    file->close();
  });
  EXPECT_EQ(data_files(), "0123");
  EXPECT_NE(report().find("layout=auto, as a step has 1536 KiB"), std::string::npos) << report();
}

// The number does not depend on the number of variables or ranks. Small index entries of many
// variables are written in windows, which takes one more.
TEST_F(GroupChoicesRanks, a_step_takes_a_fixed_number_of_meetings) {
  method_.report = "json:" + (folder_ / "report.json").string();
  const auto told = [&](int with, int variables) {
    SetUp();
    method_.report = "json:" + (folder_ / "report.json").string();
    GroupDefinition group = define_group("g", "C");
    const auto name = [](int v) { return "T" + std::to_string(v); };
    for (int v = 0; v < variables; ++v)
      define_variable(group, {.name = name(v), .type = "double", .dimensions = "3"});
    run_as_threads(with, [&](const Comm& comm) {
      const auto file = GroupFile::create(comm, path_, group, method_, false);
      const std::vector<double> values(3, 1);
      for (int step = 0; step < 4; ++step) {
        for (int v = 0; v < variables; ++v) file->write(name(v), values.data(), false);
        file->end_step();
      }
      file->close();
    });
    const std::string text = report();
    const auto at = text.find("ranks met "), end = text.find(',', at);
    return at == std::string::npos ? text : text.substr(at, end - at);
  };
  for (const int with : {2, 3, 5})
    for (const int variables : {1, 50})
      EXPECT_EQ(told(with, variables), "ranks met 3 times in a step");
  for (const int with : {2, 3, 5})
    for (const int variables : {300, 900})
      EXPECT_EQ(told(with, variables), "ranks met 4 times in a step");
}

TEST_F(GroupChoicesRanks, logs_are_replayed_into_such_files) {
  if (!is_built("stage=burst")) GTEST_SKIP() << "it is of another wing";
  apply_hints(method_, "stage=burst", "the test");
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm);
    write(comm, *file, much);
    write(comm, *file, little);
    comm.barrier();
  });
  const auto result = recover(Comm(), path_, {});
  ASSERT_EQ(result.sessions.size(), 1U);
  EXPECT_FALSE(result.sessions[0].error) << result.sessions[0].error->what();
  EXPECT_EQ(data_files(), "012");
  check({much, little});
}

TEST_F(GroupChoicesRanks, a_file_that_cannot_be_made_fails_the_step_and_no_other) {
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto file = open(comm);
    comm.barrier();
    if (comm.is_root()) fs::create_directory(path_ / "data.1");
    comm.barrier();
    EXPECT_TRUE(attempt_to([&] { write(comm, *file, much); }));
    comm.barrier();
    if (comm.is_root()) fs::remove(path_ / "data.1");
    comm.barrier();
    write(comm, *file, much);
    write(comm, *file, little);
    file->close();
  });
  EXPECT_EQ(data_files(), "012");
  check({much, little});
}

// A codec makes chunks of variables that are large enough; others get the layout that every reader
// knows.
TEST_F(GroupChoicesRanks, records_are_chunked_where_that_is_worth_it) {
  path_ = folder_ / "run.nc";
  method_.report = "json:" + (folder_ / "report.json").string();
  std::string said;
  const auto is_chunked = [&](const char* hints, std::int64_t count) {
    Method plain;
    std::swap(method_, plain);
    method_.report = plain.report;
    apply_hints(method_, hints, "the test");
    make({count, count});
    said = report();
    make({count}, true);
    const auto file = Dataset::open(Comm(), path_, false, {});
    const bool chunked = file->schema().any_chunked();
    EXPECT_EQ(file->schema().numrecs, 3);
    file->close();
    return chunked;
  };
  const std::int64_t large = 5000;  // 117 KiB in all
  EXPECT_FALSE(is_chunked("", large));
  EXPECT_FALSE(is_chunked("codec=shuffle,zstd:3", little));
  EXPECT_TRUE(is_chunked("codec=shuffle,zstd:3", large));
  EXPECT_NE(said.find("layout=auto, as the largest variable of the first step has 120000 bytes"),
            std::string::npos)
      << said;
  EXPECT_TRUE(is_chunked("layout=auto;codec=shuffle,zstd:3", large));
  EXPECT_FALSE(is_chunked("layout=canonical;codec=shuffle,zstd:3", large));
}

// BP files limit strings; netCDF files do not.
TEST_F(GroupChoicesRanks, a_long_attribute_is_refused_where_there_is_no_room) {
  GroupDefinition group = define_group("g", "C");
  define_attribute(group, "long", std::string(70'001, 's'), "string");
  for (const char* const name : {"run.bp", "run.nc"}) {
    const auto failed = attempt_to([&] {
      GroupFile::create(Comm(), (folder_ / name).string(), group, method_, false)->close();
    });
    EXPECT_EQ(failed.has_value(), std::string(name) == "run.bp") << (failed ? failed->what() : "");
  }
}

TEST_F(GroupChoicesRanks, endings_of_other_formats_are_refused) {
  path_ = folder_ / "run.zarr";
  const auto failed = attempt_to([&] { open(Comm()); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotsupport);
  EXPECT_FALSE(fs::exists(path_));
  apply_hints(method_, "layout=process-group", "the test");
  open(Comm())->close();
  EXPECT_TRUE(fs::is_directory(path_));
}

}  // namespace group_choices_ranks_test
}  // namespace forebay
