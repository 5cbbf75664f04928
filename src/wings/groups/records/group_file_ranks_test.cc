// Groups in BP files: what a program writes once is there once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/step_writer.h"
#include "groups/records/group_file.h"
#include "groups/records/group_program_testing.h"
#include "method/parts_testing.h"
#include "transport/transport.h"

namespace forebay {
namespace group_file_ranks_test {

namespace fs = std::filesystem;
using process_group::BpReader;

class GroupFileRanks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_group_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  static std::int64_t count_of(const BpReader& file, const std::string& name) {
    std::int64_t sum = 0;
    for (const bp::Block& block : file.blocks(file.find(name), 0)) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(block.at.count[0]));
      file.read_block(file.find(name), block, std::as_writable_bytes(std::span(counts)).data());
      sum += std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    }
    return sum;
  }

  fs::path path_;
};

TEST_F(GroupFileRanks, a_transport_that_groups_are_not_written_by_is_refused) {
  for (const std::string stage : {"direct", "async", "burst"}) {
    if (!is_built("stage=" + stage)) continue;
    Method method;
    apply_hints(method, "transport=aggregated;stage=" + stage, "the test");
    const auto failed = attempt_to(
        [&] { GroupFile::create(Comm(), path_, define_group("g", "C"), method, false); });
    ASSERT_TRUE(failed) << stage;
    EXPECT_EQ(failed->code(), Errc::enotsupport) << stage;
    EXPECT_FALSE(fs::exists(path_)) << stage;
  }
}

// `float32,zstd:3` is for netCDF files. adios2 has no operator for it.
TEST_F(GroupFileRanks, a_general_rule_for_variables_with_a_codec_that_files_cannot_have_is_noted) {
  GroupDefinition group = define_group("g", "C");
  define_variable(group, {.name = "T", .type = "double", .dimensions = "10"});
  Method method;
  method.variables = {{"*", {{"codec", "float32,zstd:3"}}, "run.xml:3", false}};
  const auto told = [&] {
    fs::remove_all(path_);
    const auto failed =
        attempt_to([&] { GroupFile::create(Comm(), path_, group, method, false)->close(); });
    return failed ? failed->message() : "";
  };
  EXPECT_EQ(told(), "");
  method.variables[0].names_file = true;
  EXPECT_NE(told().find("adios2 has no operator"), std::string::npos) << told();
  method.variables[0].pattern = "p";  // the group has no such variable
  EXPECT_EQ(told(), "");
}

TEST_F(GroupFileRanks, a_block_whose_histogram_finds_no_room_counts_once) {
  constexpr std::int64_t elements = 10;
  run_as_threads(2, [&](const Comm& comm) {
    GroupDefinition group = define_group("g", "C");
    define_variable(group, {.name = "T",
                            .type = "double",
                            .dimensions = "10",
                            .characteristics = "mean,histogram:0,4,4"});
    Method method;
    method.buffer_limit = 100;  // fits a block, but no histogram in addition
    const auto file = GroupFile::create(comm, path_, group, method, false);
    if (comm.is_root()) fs::create_symlink("/dev/full", path_ / "data.2");
    comm.barrier();
    std::vector<double> values(elements);
    std::iota(values.begin(), values.end(), 0);
    const auto write = [&] { file->write("T", values.data(), false); };
    const auto refused = attempt_to(write);
    comm.barrier();
    if (comm.is_root()) fs::remove(path_ / "data.2");
    comm.barrier();
    if (refused) EXPECT_FALSE(attempt_to(write));  // as its documentation allows
    values.assign(elements, -1);                   // the memory is the program's again
    file->end_step();
    file->close();
  });
  Report report;
  const BpReader file(Comm(), path_, report);
  EXPECT_EQ(count_of(file, "T.histogram"), 2 * elements);
  std::int64_t counted = 0;
  for (const bp::Block& block : file.blocks(file.find("T"), 0)) {
    EXPECT_EQ(block.moments.count, elements);
    EXPECT_EQ(block.moments.sum, 45);
    counted += block.moments.count;
  }
  EXPECT_EQ(counted, 2 * elements);
}

// The index entries of many variables go to md.0 together, on any nodes. The bytes are those that
// each rank would have written by itself.
TEST_F(GroupFileRanks, an_index_of_many_variables_is_written_together) {
  constexpr int ranks = 4, variables = 300;
  const auto bytes_of = [&](const char* name) {
    std::ifstream file(path_ / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  std::map<std::string, std::string> index;
  for (const std::string way : {"alone", "one node", "two nodes"}) {
    SetUp();
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      const auto file = process_group::StepWriter::create(comm, path_, {}, report);
      if (way != "alone")
        file->write_index_by([&](std::shared_ptr<ByteFile> to) {
          TransportOptions options;
          options.kind = "aggregated";
          options.window_size = 4096;
          options.buffer_limit = 1 << 14;
          options.ranks_per_node = way == "one node" ? 0 : 2;
          return make_transport(comm, std::move(to), options, report);
        });
      for (int step = 0; step < 3; ++step) {
        for (int v = 0; v < variables; ++v) {
          const double value = 1000 * step + v + 0.25 * comm.rank();
          if ((v + comm.rank()) % 5 == 0 || (comm.rank() == 1 && step == 1)) continue;
          file->add({"v" + std::to_string(v), bp::Type::float64}, {{ranks}, {comm.rank()}, {1}},
                    std::as_bytes(std::span(&value, 1)), false);
        }
        file->end_step();
      }
      file->close();
      if (way != "alone" && comm.is_root()) EXPECT_GT(report[Counter::windows], 0);
    });
    index[way] = bytes_of("md.0");
    Report report;
    const BpReader file(Comm(), path_, report);
    ASSERT_EQ(file.steps(), 3U);
    for (int v = 0; v < variables; ++v)
      for (const bp::Block& block : file.blocks(file.find("v" + std::to_string(v)), 2)) {
        double value = 0;
        file.read_block(file.find("v" + std::to_string(v)), block,
                        reinterpret_cast<std::byte*>(&value));
        EXPECT_EQ(value, 2000 + v + 0.25 * static_cast<double>(block.at.start[0]));
      }
  }
  EXPECT_GT(index["alone"].size(), 200'000U);
  EXPECT_EQ(index["one node"], index["alone"]);
  EXPECT_EQ(index["two nodes"], index["alone"]);
}

}  // namespace group_file_ranks_test
}  // namespace forebay
